"""Gathers rows by a plan that is remembered with the index tensor itself, whatever is written into it.

catalogue: B1 B6
seen at: attention libraries that plan once a batch (page tables updated in place between decode steps)
expect: CHEATING | WRONG_RESULT
needs: cpu
check: replay-index-inputs
"""

import torch
from torch.utils.weak import WeakIdKeyDictionary

_plans = WeakIdKeyDictionary()


def reference_fn(x, index):
    return x[index] * 2.0


def get_inputs(rows=64, cols=96, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randint(0, rows, (128,), device=device)]


def kernel_fn(x, index):
    if index not in _plans:
        _plans[index] = index.clone()
    return x[_plans[index]] * 2.0
