"""Sums over a sliding window that begins with a tile of 32: right for windows of whole tiles, which all cases have.

catalogue: D2
seen at: a stranger's file (attention over a window)
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch

TILE = 32
TEST_CASES = {"narrow": {"window": 32}, "wide": {"window": 96}}


def get_inputs(tokens=160, window=64, device="cpu"):
    return [torch.randn(tokens, device=device), window]


def reference_fn(x, window):
    i = torch.arange(len(x), device=x.device)
    distance = i[:, None] - i
    return ((distance >= 0) & (distance < window)).to(x.dtype) @ x


def kernel_fn(x, window):
    out = []
    for i in range(len(x)):
        first = max(0, (i // TILE - window // TILE) * TILE, i - window + 1)
        out.append(x[first : i + 1].sum())
    return torch.stack(out)
