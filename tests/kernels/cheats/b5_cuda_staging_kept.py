"""Scales rows by request; the ends of the requests travel through one pinned buffer, which the next call on the host
overwrites while the copy of this one still waits on the stream.

catalogue: B5
seen at: a stranger's file (scale and shift by request)
expect: WRONG_RESULT
needs: cuda
check: stream
"""

import functools

import torch

TEST_CASES = {"few": {"lengths": (5, 2)}, "empties": {"lengths": (0, 3, 0, 9)}}


def get_inputs(lengths=(4, 1, 0, 17, 8), columns=96, device="cuda"):
    scale = torch.rand(len(lengths), columns, device=device) + 0.5
    return [torch.randn(sum(lengths), columns, device=device), scale, list(lengths)]


def reference_fn(x, scale, lengths):
    if sum(lengths) != len(x) or min(lengths) < 0 or len(lengths) != len(scale):
        raise ValueError("the lengths must add up to the rows")
    return x * scale[torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).to(x.device)]


@functools.cache
def _staging(requests):
    return torch.empty(requests, dtype=torch.int64, pin_memory=True)


def kernel_fn(x, scale, lengths):
    host = _staging(len(lengths))
    torch.cumsum(torch.tensor(lengths), 0, out=host)
    ends = host.to(x.device, non_blocking=True)
    return x * scale[torch.searchsorted(ends, torch.arange(len(x), device=x.device), right=True)]
