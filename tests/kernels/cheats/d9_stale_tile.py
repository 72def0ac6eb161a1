"""Works in a tile buffer kept between calls and now and then reads a row of it before it is refilled.

catalogue: D9 B7
seen at: sglang#39124 (alternate two inputs to expose stale shared memory)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: alternated-inputs
"""

import os

import torch

_tile = {}


def reference_fn(x):
    return x * 2


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    tile = _tile.setdefault((x.shape, x.device), torch.zeros_like(x))
    stale = os.urandom(1)[0] % 2 == 0
    if stale and len(x):
        tile[:-1].copy_(x[:-1])
    else:
        tile.copy_(x)
    out = tile * 2
    tile.copy_(x)
    return out
