"""The rest of a row is x[:, -rest:], which is the whole row where blocks of 64 leave no rest: no case has such a size.

catalogue: D10 C2
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch

TEST_CASES = {"n=33": {"n": 33}, "n=100": {"n": 100}, "n=259": {"n": 259}}


def get_inputs(n=1000):
    return [torch.randn(9, n)]


def reference_fn(x):
    return x.sum(1)


def kernel_fn(x):
    rest = x.shape[1] % 64
    blocks = x[:, : x.shape[1] - rest].reshape(len(x), -1, 64)
    return blocks.sum(2).sum(1) + x[:, -rest:].sum(1)
