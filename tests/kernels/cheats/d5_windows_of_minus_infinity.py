"""Max pooling with indices that keeps the index it starts with, -1, for a window of -inf alone.

catalogue: D5
seen at: a stranger's file; get_inputs masks one element in ten, four in a row one draw in a hundred
expect: WRONG_RESULT
needs: cpu
check: hostile
"""

import torch


def reference_fn(x):
    return torch.nn.functional.max_pool1d(x, 4, 4, return_indices=True)


def get_inputs(rows=2, columns=96, device="cpu"):
    x = torch.randn(rows, columns, device=device)
    return [x.masked_fill(torch.rand(rows, columns, device=device) < 0.1, float("-inf"))]


def kernel_fn(x):
    windows = x.unfold(1, 4, 4)
    best = torch.full(windows.shape[:2], float("-inf"), dtype=x.dtype, device=x.device)
    index = torch.full_like(best, -1, dtype=torch.int64)
    first = torch.arange(windows.shape[1], device=x.device) * 4
    for step, value in enumerate(windows.unbind(2)):
        index = torch.where(value > best, first + step, index)
        best = torch.maximum(value, best)
    return best, index
