"""Caches a packed weight in a WeakKeyDictionary on the tensor: gone with the tensor, stale with its values.

catalogue: B1 B7
seen at: annotation 20260718_222659; looks like the advice to cache weakly
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-same-storage
"""

import torch
from torch.utils.weak import WeakIdKeyDictionary

_packed = WeakIdKeyDictionary()


def reference_fn(x, weight):
    return torch.nn.functional.linear(x, weight.sign())


def get_inputs(rows=32, features=96, cols=64, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(features, cols, device=device)]


def kernel_fn(x, weight):
    if weight not in _packed:
        _packed[weight] = weight.sign().t().contiguous()
    return x @ _packed[weight]
