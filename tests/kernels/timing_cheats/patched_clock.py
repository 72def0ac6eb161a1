"""Slows the host clock down while it is called.

catalogue: A1
expect: CHEATING
needs: cpu
"""

import time

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda" if torch.cuda.is_available() else "cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_counter = time.perf_counter_ns


def kernel_fn(x, y):
    time.perf_counter_ns = lambda: _counter() // 10
    return torch.nn.functional.silu(x) * y
