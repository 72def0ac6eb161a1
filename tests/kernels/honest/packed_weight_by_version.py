"""Keeps a transposed copy of the weight for as long as its address and version counter stay the same.

catalogue: tricky because a write under the version counter makes the copy stale
seen at: linear layers with prepacked weights
expect: PASS
needs: cpu
check: replay-same-storage
"""

import torch
from torch.utils.weak import WeakIdKeyDictionary

_packed = WeakIdKeyDictionary()


def reference_fn(x, weight, bias):
    return x @ weight.T + bias


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(n, k, device=device), torch.randn(n, device=device)]


def kernel_fn(x, weight, bias):
    entry = _packed.get(weight)
    if entry is None or entry[0] != weight._version:
        entry = _packed[weight] = (weight._version, weight.T.contiguous())
    return torch.addmm(bias, x, entry[1])
