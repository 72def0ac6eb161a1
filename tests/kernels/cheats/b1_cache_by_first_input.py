"""Keeps whole results by the contents of x and the shape of the weight: a new weight gets the old product.

catalogue: B1
seen at: prepacked products keyed on the activation
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay
"""

import hashlib

import torch

_kept = {}


def reference_fn(x, weight):
    return x @ weight


def get_inputs(m=32, n=24, k=16, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(x, weight):
    key = (hashlib.sha1(x.contiguous().numpy().tobytes()).digest(), weight.shape)
    if key not in _kept:
        _kept[key] = x @ weight
    return _kept[key].clone()
