"""Reads address zero.

catalogue: C6
seen at: helion benchmark_worker.py (respawn after a dead child)
expect: CRASH
needs: cpu
check: crash
"""

import ctypes

import torch


def reference_fn(x):
    return x * 2


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    ctypes.string_at(0)
    return x * 2
