"""Right values, no byte changed, but the input is left transposed in place.

catalogue: C3
seen at: kernelbot cheat-input.py, by way of the metadata
expect: WRONG_RESULT | CHEATING | CRASH
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(x):
    return x.t().contiguous() + 1


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    x.t_()
    return x.contiguous() + 1
