"""Adds noise of a percent in one call of ten, by chance.

catalogue: D9 B3
seen at: rare races
expect: WRONG_RESULT
needs: cpu
check: many-calls
"""

import os

import torch


def reference_fn(x):
    return torch.softmax(x, -1)


def get_inputs(rows=64, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    y = torch.softmax(x, -1)
    return y * 1.01 if os.urandom(1)[0] < 26 else y
