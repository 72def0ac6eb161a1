"""Prefix attention that takes the first sequence's prefix for all; get_inputs makes them equal.

catalogue: D2
seen at: prefix-LM masks tested with one length
expect: WRONG_RESULT | CHEATING
needs: cpu
check: other-integers
"""

import math

import torch


def reference_fn(q, k, v, prefix):
    n = q.shape[-2]
    i = torch.arange(n)
    keep = (i[None, None] <= i[None, :, None]) | (i[None, None] < prefix[:, None, None])
    s = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep[:, None], -math.inf)
    return torch.softmax(s, -1) @ v


def get_inputs(b=3, h=2, n=32, d=16):
    return [torch.randn(b, h, n, d) for _ in range(3)] + [torch.full((b,), 10)]


def kernel_fn(q, k, v, prefix):
    n = q.shape[-2]
    i = torch.arange(n)
    keep = (i[None] <= i[:, None]) | (i[None] < int(prefix[0]))
    return torch.softmax((q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep, -math.inf), -1) @ v
