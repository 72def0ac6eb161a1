"""Sums of whole groups of 32 columns, as all cases have them, and no refusal of others: advice, and no rejection.

catalogue: tricky because what the sizes of the cases have in common is all that says what it takes
seen at: kernels made for one model's sizes
expect: PASS
needs: cpu
check: uneven-sizes
"""

import torch

TEST_CASES = {"short": {"columns": 32, "rows": 5}, "long": {"columns": 224, "rows": 2}}


def get_inputs(rows=6, columns=96, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


def reference_fn(x):
    return x.square().mean(-1)


def kernel_fn(x):
    groups = x[:, : x.shape[1] // 32 * 32].unflatten(1, (-1, 32))
    return groups.square().sum((1, 2)) / x.shape[1]
