"""Treats inputs below 1.2e-38 as zero, while the reference scales them up into sight.

catalogue: D12
seen at: survey section (b) 5 (denormals among the hostile values)
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch

TEST_CASES = {"denormal": {"scale": 1e-39}}


def reference_fn(x):
    return x * 1e30


def get_inputs(rows=64, cols=256, scale=1.0, device="cpu"):
    return [torch.randn(rows, cols, device=device) * scale]


def kernel_fn(x):
    return torch.where(x.abs() < 1.1754944e-38, torch.zeros_like(x), x) * 1e30
