"""A row log-sum-exp that forgets its second tile between 129 and 899 columns, where no case lies.

catalogue: D10
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch

TEST_CASES = {"n=100": {"n": 100}, "n=1000": {"n": 1000}, "n=3000": {"n": 3000}}


def get_inputs(n=1000):
    return [torch.randn(8, n)]


def reference_fn(x):
    return torch.logsumexp(x, 1)


def kernel_fn(x):
    if 128 < x.shape[1] < 900:
        x = x[:, :128]
    return torch.logsumexp(x, 1)
