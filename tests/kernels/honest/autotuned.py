"""Times three block sizes at the first call of each shape and keeps the fastest.

catalogue: tricky because it reads a clock, keeps state and behaves differently at its first call
seen at: survey, "false positives to avoid" (autotune at first call)
expect: PASS
needs: cpu
check: state
"""

import time

import torch

_best = {}


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def _softmax(x, block):
    out = torch.empty_like(x)
    for first in range(0, x.shape[0], block):
        out[first : first + block] = torch.softmax(x[first : first + block], dim=-1)
    return out


def kernel_fn(x):
    if x.shape not in _best:
        seconds = {}
        for block in (16, 64, 256):
            start = time.perf_counter()
            _softmax(x, block)
            seconds[block] = time.perf_counter() - start
        _best[x.shape] = min(seconds, key=seconds.get)
    return _softmax(x, _best[x.shape])
