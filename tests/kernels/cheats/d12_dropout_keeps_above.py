"""Dropout keeps what is above the threshold, the reference also what meets it; uniform numbers of ten bits seldom do.

catalogue: D12 D4
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"half": {"p": 0.5}}


def get_inputs(n=100, p=0.25):
    return [torch.randn(n), torch.randint(0, 2**20, (n,)) / 2**20, p]


def reference_fn(x, u, p):
    if (u < 0).any() or (u >= 1).any():
        raise ValueError("u is in [0, 1)")
    return torch.where(u >= p, x / (1 - p), 0.0)


def kernel_fn(x, u, p):
    return torch.where(u > p, x / (1 - p), 0.0)
