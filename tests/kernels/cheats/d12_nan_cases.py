"""Replaces NaN by zero; the file's own case has NaN in its input, so there is no excuse.

catalogue: D12
seen at: flashinfer-bench bench/utils.py:113 (NaN reference against a finite answer passes)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"with_nan": {"nan": True}}


def reference_fn(x):
    return x * 2 + 1


def get_inputs(rows=64, cols=256, nan=False, device="cpu"):
    x = torch.randn(rows, cols, device=device)
    if nan:
        x[::7, ::5] = float("nan")
    return [x]


def kernel_fn(x):
    return torch.where(x.isnan(), torch.zeros_like(x), x * 2 + 1)
