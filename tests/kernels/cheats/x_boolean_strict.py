"""Compares with > where the reference compares with >=: wrong only where the operands are equal.

catalogue: D5
seen at: survey section (b) 5 (ties among the hostile values)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, y):
    return x >= y


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randint(0, 50, (rows, cols), device=device).float() for _ in range(2)]


def kernel_fn(x, y):
    return x > y
