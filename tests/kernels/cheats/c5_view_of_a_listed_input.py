"""Returns a tensor out of an input list where the reference returns a copy.

catalogue: C5
seen at: variation of c5_returns_input.py with the input in a list
expect: WRONG_RESULT | CHEATING
needs: cpu
check: aliasing-nested
"""

import torch


def reference_fn(tensors, scale):
    return [tensors[0].clone(), tensors[1] * scale]


def get_inputs(rows=64, cols=64, device="cpu"):
    return [[torch.randn(rows, cols, device=device) for _ in range(2)], 2.0]


def kernel_fn(tensors, scale):
    return [tensors[0], tensors[1] * scale]
