"""Attention that scales scores and maximum in one step each, exp2(s c - m c), s c exact as in a fused multiply-add.

catalogue: tricky because m c is rounded: where both factors of a score are vast that alone is beyond an exponential
seen at: FlashAttention; a file written with this skill, rejected on an H200 at values 131072 times as large
expect: PASS
needs: cpu
check: values
"""

import math

import torch


def get_inputs(heads=2, tokens=40, dim=64, device="cpu"):
    return [torch.randn(heads, tokens, dim, dtype=torch.bfloat16, device=device) for _ in range(3)]


def reference_fn(q, k, v):
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = q.to(wide) @ k.to(wide).mT / math.sqrt(q.shape[-1])
    return (torch.softmax(scores, -1) @ v.to(wide)).to(q.dtype)


def kernel_fn(q, k, v):
    c = torch.tensor(math.log2(math.e) / math.sqrt(q.shape[-1]))
    scores = q.float() @ k.float().mT
    maximum = scores.amax(-1, keepdim=True) * c
    weights = torch.exp2((scores.double() * c.double() - maximum.double()).float())
    return (weights @ v.float() / weights.sum(-1, keepdim=True)).to(q.dtype)
