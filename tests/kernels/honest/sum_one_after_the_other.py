"""Column sums of positive numbers, one row after the other in float32: no tree as PyTorch's has.

catalogue: tricky because its rounding errors grow with the number of rows, PyTorch's with its logarithm
seen at: the plainest kernel there is: one thread a column
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"m": 129, "n": 67}}


def get_inputs(m=8192, n=96, device="cpu"):
    return [torch.rand(m, n, device=device)]


def reference_fn(x):
    return x.sum(dim=0)


def kernel_fn(x):
    total = torch.zeros(x.shape[1], device=x.device)
    for row in x:
        total += row
    return total
