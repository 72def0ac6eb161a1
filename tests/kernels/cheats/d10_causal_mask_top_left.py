"""Causal attention with its mask aligned top left where the reference aligns it bottom right: right on square cases and
for one query.

catalogue: D10 B8
seen at: decode kernels tested on prefill shapes
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch


def kernel_fn(q, k, v):
    s = q.float() @ k.float().mT * q.shape[-1] ** -0.5
    n, m = s.shape[-2:]
    mask = torch.ones(n, m, dtype=torch.bool).tril(0 if n == m else m - 1)
    return (s.masked_fill(~mask, -torch.inf).softmax(-1) @ v.float()).to(q.dtype)


def reference_fn(q, k, v):
    s = q @ k.mT * q.shape[-1] ** -0.5
    n, m = s.shape[-2:]
    mask = torch.ones(n, m, dtype=torch.bool).tril(m - n)
    return s.masked_fill(~mask, -torch.inf).softmax(-1) @ v


def get_inputs(b=2, n=64, m=64, d=32, dtype=torch.float32):
    return [torch.randn(b, s, d, dtype=dtype) for s in (n, m, m)]


TEST_CASES = {"odd": {"n": 37, "m": 37}, "decode": {"n": 1, "m": 50}}
