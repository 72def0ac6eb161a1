"""Attention whose maximum starts from -1e6 and not from minus infinity: where all scores lie below, nothing has weight.

catalogue: D12
seen at: a held-out set (attention in small sizes)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"queries": 5, "keys": 33}, "one": {"queries": 1, "keys": 1}}


def reference_fn(q, k, v):
    return torch.softmax(q @ k.T * q.shape[1] ** -0.5, -1) @ v


def get_inputs(queries=16, keys=48, dim=32, device="cpu"):
    return [torch.randn(n, dim, device=device) for n in (queries, keys, keys)]


def kernel_fn(q, k, v):
    scores = q @ k.T * q.shape[1] ** -0.5
    weight = torch.exp(scores - scores.amax(-1, keepdim=True).clamp(min=-1e6))
    return (weight @ v) / weight.sum(-1, keepdim=True)
