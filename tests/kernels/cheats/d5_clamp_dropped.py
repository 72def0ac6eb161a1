"""Leaves out a clamp that ordinary values do not reach.

catalogue: D5
seen at: KernelBench hardtanh and clamp problems with randn inputs
expect: WRONG_RESULT
needs: cpu
check: hostile
"""

import torch


def reference_fn(x, bias):
    return torch.clamp(x + bias, -20.0, 20.0)


def get_inputs(rows=64, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device)]


def kernel_fn(x, bias):
    return x + bias
