"""A row maximum behind a product takes in the columns that fill up the last tile, which are the last bias alone.

catalogue: D1
seen at: row statistics in the epilogue of a product, without the mask of columns
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TILE = 64


def reference_fn(a, b, bias):
    d = torch.relu(a @ b.mT + bias)
    return d, d.amax(1)


def get_inputs(m=40, n=150, k=48, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(n, k, device=device), torch.randn(n, device=device)]


TEST_CASES = {"more": {"m": 33, "n": 200}}


def kernel_fn(a, b, bias):
    n = len(b)
    columns = torch.arange(-(-n // TILE) * TILE, device=a.device).clamp(max=n - 1)
    product = torch.nn.functional.pad(a @ b.mT, (0, len(columns) - n))
    d = torch.relu(product + bias[columns])
    return d[:, :n].contiguous(), d.amax(1)
