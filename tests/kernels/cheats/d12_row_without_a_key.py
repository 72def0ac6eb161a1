"""Attention that is NaN where a mask leaves no key, and the reference zero.

catalogue: D12
seen at: flash attention kernels with padding masks
expect: WRONG_RESULT
needs: cpu
check: masks
"""

import math

import torch


def reference_fn(q, k, v, keep):
    s = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep, -math.inf)
    m = s.amax(-1, keepdim=True).clamp_min(-1e30)
    p = torch.exp(s - m)
    return (p / p.sum(-1, keepdim=True).clamp_min(1e-20)) @ v


def get_inputs(b=2, h=2, n=40, d=16):
    keep = torch.rand(b, 1, n, n) < 0.8
    keep[..., 0] = True
    return [torch.randn(b, h, n, d) for _ in range(3)] + [keep]


def kernel_fn(q, k, v, keep):
    s = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep, -math.inf)
    return torch.softmax(s, -1) @ v
