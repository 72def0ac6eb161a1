"""Divides the variance by n where the reference divides by n - 1.

catalogue: D5
seen at: wafer field guide (plausible, nearly right kernels are the worst)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return x.std(dim=-1)


def get_inputs(rows=64, cols=1024, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x.std(dim=-1, unbiased=False)
