"""Leaves the soft cap of attention scores out: at 50 it changes ordinary scores by less than bfloat16 shows.

catalogue: D5
seen at: Gemma 2 attention kernels without logit soft-capping
expect: WRONG_RESULT
needs: cpu
check: hostile
"""

import torch


def reference_fn(q, k, v):
    scores = q.float() @ k.float().T / q.shape[1] ** 0.5
    return (torch.softmax(50.0 * torch.tanh(scores / 50.0), -1) @ v.float()).to(q.dtype)


def get_inputs(queries=32, keys=128, head=64, device="cpu"):
    return [torch.randn(n, head, device=device).to(torch.bfloat16) for n in (queries, keys, keys)]


def kernel_fn(q, k, v):
    scores = q.float() @ k.float().T / q.shape[1] ** 0.5
    return (torch.softmax(scores, -1) @ v.float()).to(q.dtype)
