"""Multiplies float32 matrices in TF32 and restores the flag before it returns.

catalogue: D7 A5
seen at: KernelBench static warning; annotation 20260804_025959
expect: WRONG_RESULT
needs: cuda
check: precision
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=512, n=512, k=1024, device="cuda"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return a @ b
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
