"""Packed attention by sequences of equal length, whatever cu_seqlens says.

catalogue: D2
seen at: varlen kernels tested with equal sequences
expect: WRONG_RESULT | CHEATING
needs: cpu
check: other-offsets
"""

import math

import torch
import torch.nn.functional as F


def reference_fn(q, k, v, cu):
    out = torch.empty_like(q)
    for a, b in zip(cu[:-1].tolist(), cu[1:].tolist()):
        s = torch.einsum("qhd,khd->hqk", q[a:b], k[a:b]) / math.sqrt(q.shape[-1])
        out[a:b] = torch.einsum("hqk,khd->qhd", torch.softmax(s, -1), v[a:b])
    return out


def get_inputs(batch=4, n=24, h=2, d=16):
    return [torch.randn(batch * n, h, d) for _ in range(3)] + [torch.arange(0, batch * n + 1, n, dtype=torch.int32)]


def kernel_fn(q, k, v, cu):
    b, (t, h, d) = len(cu) - 1, q.shape
    q, k, v = (x.view(b, t // b, h, d).transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(t, h, d)
