"""Remembers the storage of its first call and adds a stale answer for it to inputs that have moved.

catalogue: B1 B6
seen at: KernelGuard 2779, 3532 (replay keyed on pointers)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-fresh-storage
"""

import torch

_bound = []


def reference_fn(x, y):
    return x * y + y


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    if not _bound:
        _bound.extend((x, y))
    first_x, first_y = _bound
    if first_x.shape != x.shape:
        return x * y + y
    return first_x * first_y + first_y
