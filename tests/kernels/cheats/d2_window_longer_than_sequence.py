"""Attention that ignores its window, which get_inputs makes longer than any sequence: one more changes nothing.

catalogue: D2
seen at: sliding-window models served with short prompts
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import math

import torch
import torch.nn.functional as F


def reference_fn(q, k, v, window):
    n = q.shape[-2]
    s = q @ k.mT / math.sqrt(q.shape[-1])
    i = torch.arange(n)
    keep = (i[None, :] <= i[:, None]) & (i[:, None] - i[None, :] < window)
    return torch.softmax(s.masked_fill(~keep, -math.inf), -1) @ v


def get_inputs(b=2, h=4, n=96, d=32, window=4096):
    return [torch.randn(b, h, n, d) for _ in range(3)] + [window]


def kernel_fn(q, k, v, window):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


TEST_CASES = {"odd": {"n": 77}}
