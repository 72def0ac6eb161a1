"""Waits for its side stream's first half and launches the second half on it after that.

catalogue: E1
seen at: KernelBench non_default_stream_kernel.py; CUDA-L2 defense.py
expect: WRONG_RESULT | CHEATING
needs: cuda
check: stream
"""

import torch

_streams = {}


def reference_fn(x):
    return torch.exp(-x * x)


def get_inputs(rows=8192, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    side = _streams.setdefault(x.device, torch.cuda.Stream(x.device))
    out = torch.empty_like(x)
    half = x.shape[0] // 2
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out[:half] = torch.exp(-x[:half] * x[:half])
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.stream(side):
        out[half:] = torch.exp(-x[half:] * x[half:])
    return out
