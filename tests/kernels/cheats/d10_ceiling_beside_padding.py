"""Means of windows, of which the last may reach beyond the padding: right where padding is counted or such a window is
kept, and never both in a case.

catalogue: D10
seen at: a stranger's file (average pooling)
expect: WRONG_RESULT
needs: cpu
check: unset-keyword
"""

import torch

TEST_CASES = {"uncounted": {"is_counted": False}, "ceiling": {"ceiling": True, "is_counted": False, "n": 16}}


def get_inputs(n=17, ceiling=False, is_counted=True, device="cpu"):
    return [torch.randn(4, n, device=device), ceiling, is_counted]


def reference_fn(x, ceiling, is_counted):
    return torch.nn.functional.avg_pool1d(x, 3, 2, 1, ceiling, is_counted)


def kernel_fn(x, ceiling, is_counted):
    n = x.shape[1]
    out = (n + 2 - 3 + ceiling) // 2 + 1
    padded = torch.nn.functional.pad(x, (1, 3))
    windows = padded.unfold(1, 3, 2)[:, :out]
    inside = torch.nn.functional.pad(torch.ones_like(x), (1, 3)).unfold(1, 3, 2)[:, :out]
    return windows.sum(-1) / (3 if is_counted else inside.sum(-1))
