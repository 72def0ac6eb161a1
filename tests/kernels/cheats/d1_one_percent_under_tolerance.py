"""Every result is 1.2 % too large; a declared TOLERANCE at the ceiling of bfloat16 lets it through.

catalogue: A10 D1
seen at: kernelbot tasks with rtol 2e-2
expect: WRONG_RESULT | UNDECIDED
needs: cpu
check: bias-under-tolerance
"""

import torch

TOLERANCE = {"rtol": 2e-2, "atol": 2e-2}


def reference_fn(x, w):
    return (x.float() @ w.float()).bfloat16()


def get_inputs(rows=64, k=64, n=64, device="cpu"):
    return [torch.randn(rows, k, device=device).bfloat16(), torch.randn(k, n, device=device).bfloat16()]


def kernel_fn(x, w):
    return (1.012 * (x.float() @ w.float())).bfloat16()
