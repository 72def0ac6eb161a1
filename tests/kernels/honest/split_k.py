"""A matrix product in eight slices of the inner dimension, summed at the end: rounds unlike one product.

catalogue: tricky because the rounding differs from the reference's
seen at: issue list (split-K rounding)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=1024, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    out = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    for left, right in zip(a.chunk(8, dim=1), b.chunk(8, dim=0)):
        out += left @ right
    return out
