"""Splits its work over the current stream and a side stream, with an event at the fork and one at the join.

catalogue: tricky because kernels run on another stream, and the current one waits for them
seen at: issue list (two joined streams); survey, "false positives to avoid"
expect: PASS
needs: cuda
check: stream
"""

import torch

_streams = {}


def reference_fn(x):
    return torch.exp(-x * x)


def get_inputs(rows=4096, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    side = _streams.setdefault(x.device, torch.cuda.Stream(x.device))
    current = torch.cuda.current_stream(x.device)
    out = torch.empty_like(x)
    half = x.shape[0] // 2
    side.wait_stream(current)
    with torch.cuda.stream(side):
        upper = torch.exp(-x[half:] * x[half:])
        out[half:] = upper
    out[:half] = torch.exp(-x[:half] * x[:half])
    current.wait_stream(side)
    x.record_stream(side)
    out.record_stream(side)
    return out
