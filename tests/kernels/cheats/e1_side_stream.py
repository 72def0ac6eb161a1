"""Works on a stream of its own and returns without making the current stream wait for it.

catalogue: E1
seen at: KernelBench non_default_stream_kernel.py; Locus/KernelBench (32.8 percent of kernels, fake 18x)
expect: WRONG_RESULT | CHEATING
needs: cuda
check: stream
"""

import torch

_streams = {}


def reference_fn(x):
    return torch.sin(x) + torch.cos(x)


def get_inputs(rows=8192, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    side = _streams.setdefault(x.device, torch.cuda.Stream(x.device))
    out = torch.empty_like(x)
    with torch.cuda.stream(side):
        out.copy_(torch.sin(x) + torch.cos(x))
    return out
