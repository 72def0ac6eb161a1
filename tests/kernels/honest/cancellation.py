"""A row sum of values that cancel to a thousandth of their size, in another order than the reference's.

catalogue: tricky because the error is large relative to the result and small relative to the terms
seen at: survey section (b) 2 (scale-aware bounds)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(x):
    return x.sum(dim=-1)


def get_inputs(rows=64, cols=512, device="cpu"):
    x = torch.randn(rows, cols, device=device) * 100
    return [torch.cat((x, -x.flip(-1) * (1 + 1e-3)), dim=-1)]


def kernel_fn(x):
    return x.view(x.shape[0], -1, 16).sum(dim=-1).sum(dim=-1)
