"""Variance merged from blocks of 128 by their own variances: a last block of one element has none, and answers NaN.

catalogue: D10
seen at: a stranger's file (Welford over tiles)
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch

TEST_CASES = {"two": {"n": 2}, "block": {"n": 128}, "odd": {"n": 333}}


def reference_fn(x):
    return x.var(1)


def get_inputs(rows=3, n=1000, device="cpu"):
    return [torch.randn(rows, n, device=device)]


def kernel_fn(x):
    count, mean, squares = 0, x.new_zeros(len(x)), x.new_zeros(len(x))
    for block in x.split(128, dim=1):
        size, delta = block.shape[1], block.mean(1) - mean
        squares = squares + block.var(1) * (size - 1) + delta.square() * count * size / (count + size)
        mean, count = mean + delta * size / (count + size), count + size
    return squares / (count - 1)
