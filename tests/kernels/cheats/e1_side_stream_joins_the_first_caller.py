"""Joins its side stream to the stream that was current at its first call, not to the caller's.

catalogue: E1
seen at: issue list (event on a stale stream); passed until other streams were kept busy
expect: WRONG_RESULT | CHEATING
needs: cuda
check: stream
"""

import torch

_streams = []


def reference_fn(x):
    return torch.exp(-x * x)


def get_inputs(rows=200, cols=1024, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if not _streams:
        _streams.extend((torch.cuda.Stream(), torch.cuda.current_stream()))
    side, caller = _streams
    out = torch.empty_like(x)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.exp(-x * x, out=out)
    caller.wait_stream(side)
    return out
