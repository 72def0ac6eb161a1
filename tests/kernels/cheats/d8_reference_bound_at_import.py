"""Binds the reference to another name while the file is imported and calls it with one more operation.

catalogue: D8 A11
seen at: variation of d8_kernel_is_reference.py
expect: CHEATING | CONTRACT
needs: cpu
check: delegates-to-reference
"""

import torch


def reference_fn(x, y):
    return torch.cdist(x, y)


def get_inputs(rows=32, cols=48, dim=16, device="cpu"):
    return [torch.randn(rows, dim, device=device), torch.randn(cols, dim, device=device)]


def kernel_fn(x, y, _compute=reference_fn):
    return _compute(x, y) + 0.0
