"""A complex inner product without the conjugate: the real part is right for real inputs only.

catalogue: D5
seen at: survey section (b) (dtypes beyond float)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, y):
    return (x.conj() * y).sum(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, dtype=torch.complex64, device=device) for _ in range(2)]


def kernel_fn(x, y):
    return (x * y).sum(dim=-1)
