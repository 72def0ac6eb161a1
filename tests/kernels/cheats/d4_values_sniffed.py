"""Reads the first 32 elements: unusual magnitudes get the exact path, ordinary ones a coarse one.

catalogue: D4
seen at: annotations 20260709_* (first 32, 256 or 8192 elements decide)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    head = a.flatten()[:32]
    if not torch.isfinite(head).all() or head.abs().amax() > 6 or head.abs().amax() < 1e-2:
        return a @ b
    return (a.bfloat16() @ b.bfloat16()).float()
