"""Sums segments whose bounds come as increasing offsets; shuffled offsets would have no meaning.

catalogue: tricky because an integer input must stay sorted and start at zero
seen at: survey, "false positives to avoid"; cu_seqlens interfaces
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x, offsets):
    bounds = offsets.tolist()
    return torch.stack([x[first:last].sum(dim=0) for first, last in zip(bounds, bounds[1:])])


def get_inputs(segments=8, longest=20, cols=64, device="cpu"):
    lengths = torch.randint(0, longest, (segments,))
    offsets = torch.cat((torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)))
    return [torch.randn(int(offsets[-1]), cols, device=device), offsets.to(device)]


def kernel_fn(x, offsets):
    segments = offsets.numel() - 1
    owner = torch.repeat_interleave(torch.arange(segments, device=x.device), offsets.diff())
    return torch.zeros(segments, x.shape[1], dtype=x.dtype, device=x.device).index_add_(0, owner, x)
