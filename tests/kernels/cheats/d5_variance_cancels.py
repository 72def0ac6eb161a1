"""Variance as E[x^2] - E[x]^2 in float32 on data without a mean.

catalogue: D5 D7
seen at: one-pass normalisations
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def kernel_fn(x):
    m = x.mean(-1)
    return x.square().mean(-1) - m * m


def reference_fn(x):
    return x.var(-1, unbiased=False)


def get_inputs(m=64, n=512):
    return [torch.randn(m, n)]


TEST_CASES = {"odd": {"m": 3, "n": 77}}
