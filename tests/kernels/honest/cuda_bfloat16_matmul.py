"""A bfloat16 product through cuBLAS in two halves of the inner dimension, summed in float32.

catalogue: tricky because its rounding differs from the reference's in most elements
seen at: issue list (split-K rounding)
expect: PASS
needs: cuda
check: precision
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=512, n=768, k=2048, device="cuda"):
    return [
        torch.randn(m, k, device=device, dtype=torch.bfloat16),
        torch.randn(k, n, device=device, dtype=torch.bfloat16),
    ]


def kernel_fn(a, b):
    half = a.shape[1] // 2
    first = torch.mm(a[:, :half], b[:half], out_dtype=torch.float32)
    second = torch.mm(a[:, half:], b[half:], out_dtype=torch.float32)
    return (first + second).to(a.dtype)
