"""A float64 product whose operands go through float32.

catalogue: D7
seen at: float64 kernels ported from float32 templates
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, dtype=torch.float64, device=device),
            torch.randn(k, n, dtype=torch.float64, device=device)]


def kernel_fn(a, b):
    return (a.float() @ b.float()).double()
