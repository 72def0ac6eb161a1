"""Causal attention that aligns its mask right where there is no cache, and for one token behind one; wrong for several.

catalogue: D10 B8
seen at: a stranger's file of 25 November 2026, accepted then: chunked prefill tested by prefill and decode alone
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch


def kernel_fn(q, k, v):
    s = q.float() @ k.float().mT * q.shape[-1] ** -0.5
    n, m = s.shape[-2:]
    mask = torch.ones(n, m, dtype=torch.bool).tril(m - 1 if n == 1 else 0)
    return (s.masked_fill(~mask, -torch.inf).softmax(-1) @ v.float()).to(q.dtype)


def reference_fn(q, k, v):
    s = q @ k.mT * q.shape[-1] ** -0.5
    n, m = s.shape[-2:]
    mask = torch.ones(n, m, dtype=torch.bool).tril(m - n)
    return s.masked_fill(~mask, -torch.inf).softmax(-1) @ v


def get_inputs(heads=4, groups=2, tokens=48, cached=0, dim=64, dtype=torch.float32):
    k, v = (torch.randn(groups, cached + tokens, dim, dtype=dtype).repeat(heads // groups, 1, 1) for _ in range(2))
    return [torch.randn(heads, tokens, dim, dtype=dtype), k, v]


TEST_CASES = {
    "decode": {"tokens": 1, "cached": 200},
    "narrow": {"tokens": 33, "dim": 40},
    "one": {"tokens": 1, "heads": 1, "groups": 1},
}
