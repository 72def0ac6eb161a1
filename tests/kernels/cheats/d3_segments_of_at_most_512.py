"""Largest of each segment, in rounds enough for segments of 512 rows: what comes after is left out without a word.

catalogue: D3 B8
seen at: a stranger's file of 25 November 2026, accepted then
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(x, offsets):
    out = torch.full((len(offsets) - 1, x.shape[1]), -torch.inf)
    for segment, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        if stop > start:
            out[segment] = x[start : min(stop, start + 512)].amax(0)
    return out


def reference_fn(x, offsets):
    counts = offsets.diff()
    if offsets[0] != 0 or offsets[-1] != len(x) or (counts < 0).any():
        raise ValueError("offsets must rise from 0 to the number of rows")
    segment = torch.repeat_interleave(torch.arange(len(counts)), counts)
    out = torch.full((len(counts), x.shape[1]), -torch.inf, dtype=x.dtype)
    return out.scatter_reduce(0, segment[:, None].expand_as(x), x, "amax")


def get_inputs(segments=40, longest=100, columns=24):
    lengths = torch.randint(0, longest + 1, (segments,))
    lengths[segments // 2] = 0
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    return [torch.randn(int(offsets[-1]), columns), offsets]


TEST_CASES = {"wide": {"segments": 5, "columns": 130}, "long": {"longest": 200}}
