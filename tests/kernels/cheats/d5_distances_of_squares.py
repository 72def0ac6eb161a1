"""Distances by |a|^2 + |b|^2 - 2ab in float32: of points far from the origin nothing is left.

catalogue: D5
seen at: held-out file of a stranger
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(a, b):
    return (a[:, None] - b[None]).square().sum(-1).sqrt()


def get_inputs(m=40, n=50, dim=8, device="cpu"):
    return [torch.randn(m, dim, device=device), torch.randn(n, dim, device=device)]


TEST_CASES = {"odd": {"m": 13, "n": 67, "dim": 5}, "plane": {"dim": 2}}


def kernel_fn(a, b):
    squares = a.square().sum(-1)[:, None] + b.square().sum(-1) - 2 * (a[:, None] * b).sum(-1)
    return squares.clamp_min(0).sqrt()
