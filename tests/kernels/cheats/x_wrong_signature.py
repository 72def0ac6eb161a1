"""kernel_fn takes one argument fewer than get_inputs yields.

catalogue: C8
seen at: survey row C8
expect: CONTRACT | CRASH
needs: cpu
check: contract
"""

import torch


def reference_fn(x, y):
    return x * y


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x * x
