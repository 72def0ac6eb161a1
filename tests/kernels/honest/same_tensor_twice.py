"""Receives the same tensor object as both of its inputs.

catalogue: tricky because two inputs are one tensor
seen at: survey row C5 (aliasing among the inputs is the caller's choice)
expect: PASS
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(x, y):
    return x @ y.t()


def get_inputs(rows=48, cols=64, device="cpu"):
    x = torch.randn(rows, cols, device=device)
    return [x, x]


def kernel_fn(x, y):
    return torch.mm(y, x.t()).t()
