"""Clamps to the largest finite float, so that an infinite result becomes 3.4e38.

catalogue: D12
seen at: flashinfer-bench evaluators/default.py:142; survey row D12
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch

TEST_CASES = {"overflow": {"scale": 200.0}}


def reference_fn(x):
    return torch.exp(x)


def get_inputs(rows=64, cols=256, scale=1.0, device="cpu"):
    return [torch.randn(rows, cols, device=device) * scale]


def kernel_fn(x):
    return torch.exp(x).clamp(max=torch.finfo(x.dtype).max)
