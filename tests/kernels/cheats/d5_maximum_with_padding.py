"""The largest product of each number with those of a vector, in whole tiles: beyond its end they hold zeros, which a
row of negative products is below.

catalogue: D5
seen at: an agent's epilogue of 26 November 2026, accepted then
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TILE = 16


def kernel_fn(x, y):
    padded = torch.zeros(-(-len(y) // TILE) * TILE, dtype=y.dtype)
    padded[: len(y)] = y
    return (x[:, None] * padded).amax(1)


def reference_fn(x, y):
    return (x[:, None] * y).amax(1)


def get_inputs(m=100, n=75):
    return [torch.randn(m), torch.randn(n)]


TEST_CASES = {"tail": {"n": 45}}
