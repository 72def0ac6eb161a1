"""Hands out four buffers in turn: the fifth call overwrites the first call's result.

catalogue: B4
seen at: annotation 20260802_223459, with the depth that a two-call check does not reach
expect: WRONG_RESULT | CHEATING
needs: cpu
check: first-result-unchanged
"""

import itertools

import torch

_ring = {}


def reference_fn(x):
    return torch.square(x) - 1


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    key = (x.shape, x.dtype, x.device)
    if key not in _ring:
        _ring[key] = itertools.cycle([torch.empty_like(x) for _ in range(4)])
    out = next(_ring[key])
    torch.mul(x, x, out=out)
    return out.sub_(1)
