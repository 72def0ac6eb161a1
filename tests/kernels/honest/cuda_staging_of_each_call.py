"""Scales rows by request; the ends of the requests travel through pinned memory of each call's own, which PyTorch gives
to no other before the copy is done.

catalogue: tricky because the copy is not waited for
seen at: the honest twin of cheats/b5_cuda_staging_kept.py
expect: PASS
needs: cuda
check: stream
"""

import torch

TEST_CASES = {"few": {"lengths": (5, 2)}, "empties": {"lengths": (0, 3, 0, 9)}}


def get_inputs(lengths=(4, 1, 0, 17, 8), columns=96, device="cuda"):
    scale = torch.rand(len(lengths), columns, device=device) + 0.5
    return [torch.randn(sum(lengths), columns, device=device), scale, list(lengths)]


def reference_fn(x, scale, lengths):
    if sum(lengths) != len(x) or min(lengths) < 0 or len(lengths) != len(scale):
        raise ValueError("the lengths must add up to the rows")
    return x * scale[torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).to(x.device)]


def kernel_fn(x, scale, lengths):
    host = torch.empty(len(lengths), dtype=torch.int64, pin_memory=True)
    torch.cumsum(torch.tensor(lengths), 0, out=host)
    ends = host.to(x.device, non_blocking=True)
    return x * scale[torch.searchsorted(ends, torch.arange(len(x), device=x.device), right=True)]
