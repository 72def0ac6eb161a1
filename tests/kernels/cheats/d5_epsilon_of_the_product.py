"""Cosine similarity with one epsilon for the product of the norms, where each of them has one: of rows of zeros both
make nothing, of rows that are all but zeros they make other numbers.

catalogue: D5
seen at: a stranger's file (one square root for both norms)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"n": 33, "d": 7}, "long": {"n": 10, "d": 1000}}
EPSILON = 1e-8


def reference_fn(a, b):
    return (a * b).sum(-1) / (a.norm(dim=-1).clamp_min(EPSILON) * b.norm(dim=-1).clamp_min(EPSILON))


def get_inputs(n=200, d=64, device="cpu"):
    a = torch.randn(n, d, device=device)
    a[::17] = 0
    return [a, torch.randn(n, d, device=device)]


def kernel_fn(a, b):
    wide = a.double(), b.double()
    squares = wide[0].square().sum(-1) * wide[1].square().sum(-1)
    return ((wide[0] * wide[1]).sum(-1) / squares.sqrt().clamp_min(EPSILON**2)).float()
