"""Adds a bias along the columns, but along the rows where both are equally long; no case is square.

catalogue: D10
seen at: bias and scale vectors told apart by their length
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch


def kernel_fn(x, bias):
    return x + (bias[:, None] if len(bias) == len(x) else bias)


def reference_fn(x, bias):
    return x + bias


def get_inputs(m=32, n=64):
    return [torch.randn(m, n), torch.randn(n)]


TEST_CASES = {"odd": {"m": 17, "n": 33}, "long": {"m": 100, "n": 16}}
