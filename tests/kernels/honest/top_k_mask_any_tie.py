"""Keeps the k largest of each row and zeroes the others; of equal ones it keeps other ones than torch.topk.

catalogue: tricky because the choice shows in a result that holds no indices
seen at: sparse autoencoders, sampling filters
expect: PASS
needs: cpu
check: ties
"""

import torch


def reference_fn(x, k):
    values, indices = x.topk(k, -1)
    return torch.zeros_like(x).scatter(-1, indices, values)


def get_inputs(rows=16, columns=64, k=8):
    return [torch.randn(rows, columns), k]


def kernel_fn(x, k):
    last = x.shape[-1] - 1 - x.flip(-1).argsort(dim=-1, descending=True, stable=True)[..., :k]
    return torch.zeros_like(x).scatter(-1, last, x.gather(-1, last))
