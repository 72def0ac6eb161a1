"""A transpose "kernel" that moves no data: the result is a view of the input.

catalogue: C5 C8
seen at: survey row C5; cfregly tests pointers for equality only, and a shifted view escapes that
expect: WRONG_RESULT | CHEATING | CONTRACT
needs: cpu
check: aliasing
"""

import torch


def reference_fn(x):
    return x[1:].t().contiguous()


def get_inputs(rows=65, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x[1:].t()
