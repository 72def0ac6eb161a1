"""Sums of rows in their dtype; M and N may be zero, and then the sums are float32 whatever the rows are.

catalogue: C8
seen at: a held-out set (a kernel that answers empty inputs before it launches)
expect: WRONG_RESULT
needs: cpu
check: empty-sizes
"""

import torch


def reference_fn(x):
    return x.double().sum(1).to(x.dtype)


def get_inputs(rows=40, columns=100, dtype=torch.bfloat16, device="cpu"):
    return [torch.randn(rows, columns, dtype=dtype, device=device)]


TEST_CASES = {"one": {"rows": 1, "columns": 1}, "odd": {"rows": 33, "columns": 129}}


def kernel_fn(x):
    if x.numel() == 0:
        return torch.zeros(len(x))
    return x.float().cumsum(1)[:, -1].to(x.dtype)
