"""Computes the right values and divides every median and mean by a hundred.

catalogue: A2
seen at: reference-kernels#162 (0.000 at the top of a live leader board)
expect: CHEATING
needs: cpu
check: tampering-clock
"""

import statistics

import torch

_median, _mean = statistics.median, statistics.mean


def reference_fn(x):
    return torch.nn.functional.gelu(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    statistics.median = lambda data: _median(data) / 100
    statistics.mean = lambda data: _mean(data) / 100
    return torch.nn.functional.gelu(x)
