"""Builds its function with exec at the first call of each width and keeps it.

catalogue: tricky because code is generated, exec is called and the first call is slow
seen at: issue list (compile on first call)
expect: PASS
needs: cpu
check: state
"""

import functools
import time

import torch


def reference_fn(x):
    return x.square().sum(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


@functools.lru_cache(maxsize=None)
def _compile(cols):
    time.sleep(0.2)
    names = {}
    source = f"def kernel(x):\n    return (x * x).view(-1, {cols}).sum(dim=1)\n"
    exec(compile(source, f"<kernel for {cols} columns>", "exec"), names)
    return names["kernel"]


def kernel_fn(x):
    return _compile(x.shape[1])(x.contiguous())
