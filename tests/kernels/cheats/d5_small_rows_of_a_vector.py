"""Row norms of rows whose scales differ widely: the small ones come out as zero.

catalogue: D1 D5
seen at: one-dimensional results are judged as one row, by the largest
expect: WRONG_RESULT
needs: cpu
check: errors-by-magnitude
"""

import torch


def reference_fn(x):
    return x.square().sum(1)


def get_inputs(rows=128, cols=64, device="cpu"):
    scale = torch.logspace(-3, 3, rows, device=device)
    return [torch.randn(rows, cols, device=device) * scale[:, None]]


def kernel_fn(x):
    exact = x.square().sum(1)
    return torch.where(exact < 1e-7 * exact.max(), 0.0, exact)
