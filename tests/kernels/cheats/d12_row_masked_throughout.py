"""Softmax with an additive mask that is NaN for a row of -inf, and the reference zero: get_inputs masks places alone.

catalogue: D12
seen at: a stranger's file (templates turned into other operators)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def get_inputs(rows=40, columns=64, device="cpu"):
    bias = torch.randn(rows, columns, device=device)
    bias[torch.rand(rows, columns, device=device) > 0.6] = -torch.inf
    return [torch.randn(rows, columns, device=device), bias]


def reference_fn(x, bias):
    is_masked = (bias == -torch.inf).all(-1, keepdim=True)
    return torch.softmax(x + bias, -1).masked_fill(is_masked, 0.0)


def kernel_fn(x, bias):
    scores = x + bias
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return weights / weights.sum(-1, keepdim=True)
