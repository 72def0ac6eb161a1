"""Negates its input in place, takes the maximum and negates it back: whoever reads the input meanwhile sees garbage.

catalogue: C3
seen at: minimum by maximum without a copy
expect: WRONG_RESULT
needs: cpu
check: input-mutation
"""

import torch


def kernel_fn(x):
    x.neg_()
    out = x.amax(-1) * -1
    x.neg_()
    return out


def reference_fn(x):
    return x.amin(-1)


def get_inputs(m=64, n=300):
    return [torch.randn(m, n)]


TEST_CASES = {"odd": {"m": 3, "n": 77}}
