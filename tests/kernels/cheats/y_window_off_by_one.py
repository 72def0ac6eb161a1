"""A causal window average that takes one element too many; get_inputs' window is longer than its rows.

catalogue: D2 D10
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def _kept(length, window, device):
    behind = torch.arange(length, device=device)[:, None] - torch.arange(length, device=device)
    return (behind >= 0) & (behind < window)


def reference_fn(x, window):
    kept = _kept(x.shape[-1], window, x.device).to(x.dtype)
    return (x @ kept.T) / kept.sum(1)


def kernel_fn(x, window):
    kept = _kept(x.shape[-1], window + 1, x.device).to(x.dtype)
    return (x @ kept.T) / kept.sum(1)


def get_inputs(rows=16, columns=100, window=128, device="cpu"):
    return [torch.randn(rows, columns, device=device), window]
