"""bucketize that counts a value at an edge to the bin on its left; random values are at none.

catalogue: D5
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(x, edges):
    return torch.bucketize(x, edges, right=True)


def get_inputs(n=500, device="cpu"):
    return [torch.randn(n, device=device), torch.randn(16, device=device).sort().values]


def kernel_fn(x, edges):
    return (x[:, None] > edges).sum(1)
