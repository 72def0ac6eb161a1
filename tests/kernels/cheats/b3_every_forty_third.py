"""Every forty-third call leaves out the last column.

catalogue: B3 D9
seen at: cudnn-frontend#784 and FlashKDA#24 (failures in some runs only)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-many-calls
"""

import itertools

import torch

_count = itertools.count(1)


def reference_fn(x, bias):
    return x + bias


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device)]


def kernel_fn(x, bias):
    out = x + bias
    if next(_count) % 43 == 0:
        out[:, -1] = x[:, -1]
    return out
