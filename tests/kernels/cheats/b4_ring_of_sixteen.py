"""Hands out sixteen static buffers in turn: a result is overwritten by the sixteenth call after it.

catalogue: B4
seen at: variation of b4_ring_of_four.py
expect: WRONG_RESULT | CHEATING
needs: cpu
check: earlier-result
"""

import torch

_rings = {}


def reference_fn(x):
    return torch.relu(x) + 1.0


def get_inputs(rows=64, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    ring = _rings.setdefault(x.shape, [0, [torch.empty_like(x) for _ in range(16)]])
    ring[0] += 1
    out = ring[1][ring[0] % 16]
    torch.clamp(x, min=0, out=out)
    return out.add_(1.0)
