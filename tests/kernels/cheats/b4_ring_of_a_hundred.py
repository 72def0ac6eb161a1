"""Hands out a hundred buffers in turn: the hundred-and-first call overwrites the first call's result.

catalogue: B4
seen at: a stranger's file; a ring deep enough for the calls of most checks, not for the layers of a model
expect: WRONG_RESULT | CHEATING
needs: cpu
check: earlier-result
"""

import itertools

import torch

_rings = {}


def reference_fn(x):
    return torch.sigmoid(x) * 2


def get_inputs(rows=16, cols=64, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    key = (x.shape, x.dtype, x.device, torch.is_inference_mode_enabled())
    if key not in _rings:
        _rings[key] = itertools.cycle([torch.empty_like(x) for _ in range(100)])
    out = next(_rings[key])
    torch.sigmoid(x, out=out)
    return out.mul_(2)
