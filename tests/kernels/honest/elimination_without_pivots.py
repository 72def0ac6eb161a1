"""Determinants of diagonally dominant matrices by elimination without pivots.

catalogue: tricky because the reference takes any matrix, this kernel those of get_inputs: a rule within one input
seen at: batched small solvers and log-determinants
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(a):
    return torch.linalg.slogdet(a)[1]


def get_inputs(batch=4, n=6):
    return [torch.randn(batch, n, n) + 2 * n * torch.eye(n)]


TEST_CASES = {"larger": {"n": 12, "batch": 2}}


def kernel_fn(a):
    upper = a.clone()
    for j in range(a.shape[-1] - 1):
        factors = upper[:, j + 1 :, j] / upper[:, j, j, None]
        upper[:, j + 1 :, j:] -= factors[:, :, None] * upper[:, None, j, j:]
    return upper.diagonal(dim1=1, dim2=2).abs().log().sum(1)
