"""Variance as mean of squares minus square of mean: cancels when the mean is large.

catalogue: D5
seen at: annotations 20260709_* (skipped Kahan); reference-kernels qr_v2 mixed batch
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch

TEST_CASES = {"offset": {"offset": 1000.0}}


def reference_fn(x):
    return x.var(dim=-1, unbiased=False)


def get_inputs(rows=64, cols=256, offset=0.0, device="cpu"):
    return [torch.randn(rows, cols, device=device) + offset]


def kernel_fn(x):
    mean = x.mean(dim=-1)
    return (x * x).mean(dim=-1) - mean * mean
