"""reference_fn calls kernel_fn, which is wrong; the two agree to the last bit.

catalogue: A11
seen at: open in every harness with reference and kernel in one file
expect: CONTRACT | CHEATING
needs: cpu
check: reference-circular
"""

import torch


def kernel_fn(x):
    return torch.full_like(x, 1.0 / x.shape[-1])


def reference_fn(x):
    return kernel_fn(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]
