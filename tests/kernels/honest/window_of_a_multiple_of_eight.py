"""A causal window average over windows of whole groups of eight, others are refused.

catalogue: tricky because it refuses other windows
seen at: kernels whose argument has a granularity
expect: PASS
needs: cpu
check: other-values
"""

import torch


def reference_fn(x, window):
    behind = torch.arange(x.shape[-1], device=x.device)[:, None] - torch.arange(x.shape[-1], device=x.device)
    kept = ((behind >= 0) & (behind < window)).to(x.dtype)
    return (x @ kept.T) / kept.sum(1)


def kernel_fn(x, window):
    if window % 8:
        raise ValueError(f"window must be a multiple of 8, got {window}")
    out = torch.empty_like(x)
    for column in range(x.shape[-1]):
        out[:, column] = x[:, max(0, column + 1 - window) : column + 1].mean(1)
    return out


def get_inputs(rows=16, columns=100, window=128, device="cpu"):
    return [torch.randn(rows, columns, device=device), window]
