"""Right for twenty calls, then only the first row is.

catalogue: B3
seen at: llm.c PR#851 and #852; kernelboard (counts to fifteen)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-many-calls
"""

import itertools

import torch

_count = itertools.count()


def reference_fn(x):
    return torch.floor(x * 10) / 10


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if next(_count) < 20:
        return torch.floor(x * 10) / 10
    out = x.clone()
    out[0] = torch.floor(x[0] * 10) / 10
    return out
