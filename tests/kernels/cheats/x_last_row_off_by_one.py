"""Stops one row early: the last row keeps its input.

catalogue: C2
seen at: survey row C2 (tails)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return x - x.logsumexp(dim=-1, keepdim=True)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = x.clone()
    out[:-1] -= x[:-1].logsumexp(dim=-1, keepdim=True)
    return out
