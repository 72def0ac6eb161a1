"""Sums what a mask of zeros and ones keeps; the reference multiplies, the kernel asks whether it is zero.

catalogue: tricky because other numbers in the mask, which is no bool, would be weights to the reference alone
seen at: attention masks of floats
expect: PASS
needs: cpu
check: ignored-argument
"""

import torch

TEST_CASES = {"odd": {"rows": 5, "columns": 33}, "one": {"rows": 1, "columns": 1}}


def reference_fn(x, mask):
    return (x * mask).sum(-1)


def get_inputs(rows=16, columns=50, device="cpu"):
    mask = (torch.rand(rows, columns, device=device) < 0.7).float()
    return [torch.randn(rows, columns, device=device), mask]


def kernel_fn(x, mask):
    return torch.where(mask != 0, x, 0.0).sum(-1)
