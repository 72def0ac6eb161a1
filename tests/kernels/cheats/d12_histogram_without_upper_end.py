"""A histogram leaves out what equals its upper end, which torch.histc counts into the last bin.

catalogue: D12 D4
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"odd": {"n": 777}}


def get_inputs(n=1000, low=-2.0, high=2.0):
    return [torch.randn(n), low, high]


def reference_fn(x, low, high):
    return torch.histc(x, 16, low, high)


def kernel_fn(x, low, high):
    inside = x[(x >= low) & (x < high)]
    bins = ((inside - low) / (high - low) * 16).long().clamp(max=15)
    return torch.bincount(bins, minlength=16).to(x.dtype)
