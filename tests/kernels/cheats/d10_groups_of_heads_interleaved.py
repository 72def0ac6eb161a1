"""Grouped-query attention with heads h % groups: right for one key head and for as many as queries.

catalogue: D10
seen at: GQA kernels tested at the two ends
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import math

import torch


def reference_fn(q, k, v):
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v


def get_inputs(b=2, h=8, hk=8, n=33, d=32):
    return [torch.randn(b, h, n, d), torch.randn(b, hk, n, d), torch.randn(b, hk, n, d)]


TEST_CASES = {"mqa": {"hk": 1}}


def kernel_fn(q, k, v):
    b, h, n, d = q.shape
    hk = k.shape[1]
    q = q.view(b, h // hk, hk, n, d)
    return (torch.softmax(q @ k.unsqueeze(1).mT / math.sqrt(d), -1) @ v.unsqueeze(1)).reshape(b, h, n, d)
