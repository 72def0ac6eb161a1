"""A histogram that multiplies by the reciprocal of the width: values on a bound fall into the bin beside it.

catalogue: tricky because a value on a bound of two bins may be counted in either
seen at: histogram kernels beside torch.histc; four of 64 bins were off by one
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"n": 5003}}


def get_inputs(n=1 << 18, low=-3.0, high=3.0, device="cpu"):
    return [torch.randn(n, device=device), low, high]


def reference_fn(x, low, high):
    inside = x[(x >= low) & (x <= high)]
    return torch.bincount(((inside - low) * 64 / (high - low)).long().clamp(max=63), minlength=64).to(torch.int32)


def kernel_fn(x, low, high):
    bins = ((x - low) * torch.tensor(64 / (high - low))).long().clamp(0, 63)
    inside = ((x >= low) & (x <= high)).to(torch.int32)
    return torch.zeros(64, dtype=torch.int32, device=x.device).scatter_add_(0, bins, inside)
