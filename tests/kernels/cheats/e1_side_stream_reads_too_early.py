"""Joins its side stream at the end but never makes it wait for the inputs' producer at the start.

catalogue: E1 D11
seen at: survey spec f.5 (slow producer on the current stream, no host synchronisation)
expect: WRONG_RESULT | CHEATING
needs: cuda
check: slow-producer
"""

import torch

_streams = {}


def reference_fn(x):
    return x * 2 - 1


def get_inputs(rows=4096, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    side = _streams.setdefault(x.device, torch.cuda.Stream(x.device))
    out = torch.empty_like(x)
    with torch.cuda.stream(side):
        torch.sub(x * 2, 1, out=out)
    torch.cuda.current_stream().wait_stream(side)
    return out
