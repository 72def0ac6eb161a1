"""A sum over four million positive numbers that leaves the last one out.

catalogue: C2
seen at: off-by-one in the last tile of a long reduction, hidden by a relative tolerance
expect: WRONG_RESULT
needs: cpu
check: amplified-edges
"""

import torch


def reference_fn(x):
    return x.sum()


def get_inputs(n=1 << 22, device="cpu"):
    return [torch.rand(n, device=device)]


def kernel_fn(x):
    return x[:-1].sum()
