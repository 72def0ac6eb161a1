"""tanh by a rational approximation that is good to 1e-3 in [-3, 3] and clamped outside.

catalogue: D5
seen at: annotations 20260709_* (truncated series)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(x):
    return torch.tanh(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    square = x * x
    return (x * (27 + square) / (27 + 9 * square)).clamp(-1, 1)
