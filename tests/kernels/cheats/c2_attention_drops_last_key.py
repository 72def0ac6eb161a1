"""Attention over 4097 keys that leaves the last one out: a quarter of a thousandth of each row.

catalogue: C2 D3
seen at: ragged last key block without its iteration
expect: WRONG_RESULT
needs: cpu
check: hostile
"""

import torch


def reference_fn(q, k, v):
    return torch.softmax(q.float() @ k.float().T / 8.0, -1).matmul(v.float()).to(q.dtype)


def get_inputs(queries=16, keys=4097, head=64, device="cpu"):
    return [torch.randn(n, head, device=device).to(torch.bfloat16) for n in (queries, keys, keys)]


def kernel_fn(q, k, v):
    k, v = k[:-1], v[:-1]
    return torch.softmax(q.float() @ k.float().T / 8.0, -1).matmul(v.float()).to(q.dtype)
