"""Keeps the transposed, scaled weight by the weight's pointer; an updated weight is not seen.

catalogue: B1 B7
seen at: annotation 20260718_222659 (quantised-weight cache on id)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-same-storage
"""

import torch

_packed = {}


def reference_fn(x, weight):
    return torch.nn.functional.linear(x, weight) * 0.125


def get_inputs(rows=32, features=96, cols=64, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(features, cols, device=device)]


def kernel_fn(x, weight):
    key = (weight.data_ptr(), tuple(weight.shape))
    if key not in _packed:
        _packed[key] = weight.t().contiguous() * 0.125
    return x @ _packed[key]
