"""Leaves relu out: the inputs are drawn from [0, 1).

catalogue: D2 D5
seen at: KernelBench problems with torch.rand inputs (relu and abs optimised away)
expect: WRONG_RESULT | UNDECIDED
needs: cpu
check: signs-flipped
"""

import torch


def reference_fn(x, w):
    return torch.relu(x) @ w


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.rand(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(x, w):
    return x @ w
