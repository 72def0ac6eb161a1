"""A float64 function computed in float32 and cast back.

catalogue: D7
seen at: survey row D7 (precision downgrade)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(x):
    return torch.exp(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device, dtype=torch.float64)]


def kernel_fn(x):
    return torch.exp(x.float()).double()
