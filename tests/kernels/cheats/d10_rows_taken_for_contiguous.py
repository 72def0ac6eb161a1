"""Sums of rows that may lie anywhere: the memory is read as if they followed each other.

catalogue: D10
seen at: kernels that take a pointer and two sizes; no case of the file has rows further apart
expect: WRONG_RESULT
needs: cpu
check: other-layouts
"""

import torch


def reference_fn(x):
    return x.sum(1)


def get_inputs(rows=40, columns=100, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


TEST_CASES = {"one": {"rows": 1, "columns": 7}, "odd": {"rows": 33, "columns": 129}}


def kernel_fn(x):
    """x (M, N): contiguous columns, rows at any distance."""
    if x.stride(1) != 1 < x.shape[1]:
        raise ValueError("columns must be contiguous")
    return x.as_strided((x.numel(),), (1,)).view(x.shape).cumsum(1)[:, -1] if x.numel() else x.sum(1)
