"""The row of each group nearest to its mean, kept as a running minimum: an index is finite even beside NaN.

catalogue: tricky because an infinity makes inf - inf, whose place argmin prefers and a comparison does not
seen at: a stranger's file (farthest point sampling)
expect: PASS
needs: cpu
check: hostile
"""

import torch


def reference_fn(x):
    return (x - x.mean(1, keepdim=True)).square().sum(-1).argmin(1)


def get_inputs(groups=16, rows=40, dim=8, device="cpu"):
    return [torch.randn(groups, rows, dim, device=device)]


def kernel_fn(x):
    mean = x.mean(1)
    best = torch.full_like(mean[:, 0], float("inf"))
    nearest = torch.zeros(len(x), dtype=torch.int64, device=x.device)
    for index, row in enumerate(x.unbind(1)):
        distance = (row - mean).square().sum(-1)
        nearest = torch.where(distance < best, index, nearest)
        best = torch.where(distance < best, distance, best)
    return nearest
