"""Sums int32 values in int32, which overflows; the reference's result is int64.

catalogue: D10
seen at: cutlass#2715 (int32 stride overflow)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return x.sum(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randint(0, 2**27, (rows, cols), dtype=torch.int32, device=device)]


def kernel_fn(x):
    return x.sum(dim=-1, dtype=torch.int32).long()
