"""Adds in place and returns its first input, which MUTATES does not say.

catalogue: C3 C5
seen at: helion benchmark_provider.py; the honest twin is honest/in_place_declared.py
expect: WRONG_RESULT | CHEATING | CONTRACT
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(residual, x):
    return residual + x


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(residual, x):
    return residual.add_(x)
