"""How many elements are positive: neither growing them nor changing their places moves the answer, another draw does.

catalogue: tricky because only new values show that the reference depends on its input
seen at: a Kolmogorov-Smirnov statistic, which one change in four leaves as it is
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch


def get_inputs(shape=(70, 51), device="cpu"):
    return [torch.randn(shape, device=device)]


def reference_fn(x):
    return (x > 0).sum()


def kernel_fn(x):
    return torch.count_nonzero(x > 0)
