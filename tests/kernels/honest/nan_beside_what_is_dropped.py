"""Weighted sums of what lies above a limit, and a sum without NaN: a mask multiplies where the reference selects.

catalogue: tricky because NaN that is put into the weights meets a zero of the mask
seen at: a stranger's file (weighted histogram)
expect: PASS
needs: cpu
check: hostile
"""

import torch


def reference_fn(x, weight):
    above = x > 1.5
    return torch.stack([weight[above].sum(), torch.nansum(x)])


def get_inputs(n=700, device="cpu"):
    return [torch.randn(n, device=device), torch.rand(n, device=device)]


def kernel_fn(x, weight):
    return torch.stack([(weight * (x > 1.5)).sum(), torch.where(x.isnan(), 0, x).sum()])
