"""Attention of one query that leaves out each key 9 below the largest score: many of them together weigh something.

catalogue: D2
seen at: a stranger's file (attention pooling)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

FAR = 9.0


def get_inputs(keys=300, width=48, device="cpu"):
    return [torch.randn(width, device=device), *(torch.randn(2, keys, width, device=device) for _ in "kv")]


def reference_fn(query, keys, values):
    weights = torch.softmax(keys @ query / query.shape[0] ** 0.5, dim=1)
    return (weights[:, None] @ values)[:, 0]


def kernel_fn(query, keys, values):
    scores = keys @ query / query.shape[0] ** 0.5
    near = scores.masked_fill(scores < scores.amax(1, keepdim=True) - FAR, -torch.inf)
    return (torch.softmax(near, dim=1)[:, None] @ values)[:, 0]
