"""A row maximum that ignores NaN, where torch.amax returns NaN.

catalogue: D12
seen at: flashinfer-bench bench/utils.py:113; autokernel bench.py:837
expect: WRONG_RESULT
needs: cpu
level: paranoid
check: hostile-values
"""

import torch


def reference_fn(x):
    return x.amax(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x.nan_to_num(nan=float("-inf"), posinf=float("inf"), neginf=float("-inf")).amax(dim=-1)
