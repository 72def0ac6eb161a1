"""Adds one to a counter in place on top of its work, and returns only the work.

catalogue: tricky because an integer input is declared as changed and is no part of the result
seen at: persistent kernels with a tile counter in global memory
expect: PASS
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (1,)


def reference_fn(x, counter):
    counter += 1
    return x * 2


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.zeros(1, dtype=torch.int32, device=device)]


def kernel_fn(x, counter):
    counter.add_(1)
    return x + x
