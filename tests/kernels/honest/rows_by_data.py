"""Stream compaction: how many rows the result has depends on the data, and now and then on a rounding of it.

catalogue: tricky because two runs of the reference with moved roundings have results of different lengths
seen at: held-out kernels
expect: PASS
needs: cpu
check: values
"""

import torch

TEST_CASES = {"rare": {"threshold": 2.0}, "none": {"n": 0}}


def get_inputs(n=200, threshold=0.0):
    return [torch.randn(n), threshold]


def reference_fn(x, threshold=0.0):
    indices = (x > threshold).nonzero().squeeze(1)
    return x[indices], indices


def kernel_fn(x, threshold=0.0):
    keep = x > threshold
    position = keep.cumsum(0) - 1
    total = int(keep.sum())
    values, indices = torch.empty(total, dtype=x.dtype), torch.empty(total, dtype=torch.int64)
    values[position[keep]] = x[keep]
    indices[position[keep]] = torch.arange(x.numel())[keep]
    return values, indices
