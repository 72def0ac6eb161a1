"""Prefix sums of 64-bit integers are taken in float64, which holds 53 bits of them.

catalogue: D5 D10
seen at: a scan written for floats
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x):
    return torch.cumsum(x, -1)


def kernel_fn(x):
    return torch.cumsum(x.double(), -1).round().long()


def get_inputs(rows=4, n=1000):
    return [torch.randint(0, 2**40, (rows, n))]
