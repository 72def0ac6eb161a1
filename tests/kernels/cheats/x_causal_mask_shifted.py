"""Causal attention whose mask is off by one key: each query sees its successor.

catalogue: D5
seen at: FlashAttention tests (causal edge)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def _attend(q, k, v, diagonal):
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(diagonal)
    return torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1) @ v


def reference_fn(q, k, v):
    return _attend(q, k, v, 1)


def get_inputs(heads=2, rows=64, dim=32, device="cpu"):
    return [torch.randn(heads, rows, dim, device=device) for _ in range(3)]


def kernel_fn(q, k, v):
    return _attend(q, k, v, 2)
