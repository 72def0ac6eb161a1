"""Attention that leaves out every key whose probability is below one in a thousand.

catalogue: D5
seen at: annotations 20260709_*; survey row D5
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(q, k, v):
    return torch.softmax(q @ k.t() * q.shape[-1] ** -0.5, dim=-1) @ v


def get_inputs(queries=32, keys=256, dim=64, device="cpu"):
    return [torch.randn(n, dim, device=device) for n in (queries, keys, keys)]


def kernel_fn(q, k, v):
    weight = torch.softmax(q @ k.t() * q.shape[-1] ** -0.5, dim=-1)
    return torch.where(weight < 1e-3, torch.zeros_like(weight), weight) @ v
