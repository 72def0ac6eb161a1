"""Keeps all values from the k-th largest on: more than k of them where values tie.

catalogue: D5
seen at: top-k masks by bisection
expect: WRONG_RESULT
needs: cpu
check: ties
"""

import torch


def reference_fn(x, k):
    i = x.sort(dim=-1, descending=True, stable=True).indices[..., :k]
    return torch.zeros_like(x).scatter(-1, i, x.gather(-1, i))


def get_inputs(m=16, n=64, k=8):
    return [torch.randn(m, n), k]


def kernel_fn(x, k):
    t = x.topk(k, -1).values[..., -1:]
    return torch.where(x >= t, x, 0.0)
