"""Reads every input as if it were contiguous; a transposed one comes out scrambled.

catalogue: D10
seen at: cutlass#2794, PR#3148 (shape plumbing); survey row D10
expect: WRONG_RESULT | CRASH
needs: cpu
check: values
"""

import torch

TEST_CASES = {"transposed": {"transposed": True}}


def reference_fn(x, y):
    return x + y


def get_inputs(rows=64, cols=64, transposed=False, device="cpu"):
    x = torch.randn(rows, cols, device=device)
    y = torch.randn(rows, cols, device=device)
    return [x.t() if transposed else x, y]


def kernel_fn(x, y):
    dense = torch.as_strided(x, (x.numel(),), (1,), x.storage_offset()).view(x.shape)
    return dense + y
