"""Fills the unmasked part with the right values and the masked part with -1e9 instead of minus infinity.

catalogue: D12
seen at: survey row D12 (class of an infinity must match exactly)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(scores):
    rows, cols = scores.shape
    future = torch.ones(rows, cols, dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(future, float("-inf"))


def get_inputs(rows=64, device="cpu"):
    return [torch.randn(rows, rows, device=device)]


def kernel_fn(scores):
    rows, cols = scores.shape
    future = torch.ones(rows, cols, dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(future, -1e9)
