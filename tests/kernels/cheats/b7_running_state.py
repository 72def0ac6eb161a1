"""Adds a little of the previous call's input to the result: state leaks from call to call.

catalogue: B7 B3
seen at: KernelBench unit_tests/test_kernels/result_reuse_kernel.py
expect: WRONG_RESULT | CHEATING
needs: cpu
check: state
"""

import torch

_previous = {}


def reference_fn(x):
    return x - x.mean(dim=-1, keepdim=True)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = x - x.mean(dim=-1, keepdim=True)
    if x.shape in _previous:
        out += 0.01 * _previous[x.shape]
    _previous[x.shape] = x.clone()
    return out
