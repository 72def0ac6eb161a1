"""A copy kernel: its result equals its input, in memory of its own.

catalogue: tricky because the null kernel "return the input" is right
seen at: copy and cast kernels as the first exercise of every course
expect: PASS
needs: cpu
check: null-kernel
"""

import torch


def reference_fn(x):
    return x.clone()


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.empty_like(x).copy_(x)
