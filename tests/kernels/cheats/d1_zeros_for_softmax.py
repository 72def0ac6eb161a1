"""Zeros for a softmax over 8192 columns: the largest expected value lies below a tolerance of 1e-2.

catalogue: D1
seen at: KernelBench#165 (zeros pass 4 of 60 level-1 problems)
expect: WRONG_RESULT | UNDECIDED
needs: cpu
check: null-kernel
"""

import torch


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=8, cols=8192, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.zeros_like(x)
