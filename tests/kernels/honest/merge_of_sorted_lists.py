"""Merges two sorted rows by counting ranks, as merge-path kernels do; unsorted rows are outside what it promises.

catalogue: tricky because inputs are sorted and stay so in every use
seen at: merge-path kernels
expect: PASS
needs: cpu
check: structured-inputs
"""

import torch


def reference_fn(a, b):
    return torch.cat([a, b]).sort().values


def get_inputs(n=300, m=200, device="cpu"):
    return [torch.randn(n, device=device).sort().values, torch.randn(m, device=device).sort().values]


def kernel_fn(a, b):
    out = torch.empty(a.numel() + b.numel(), dtype=a.dtype, device=a.device)
    out[torch.arange(a.numel(), device=a.device) + torch.searchsorted(b, a)] = a
    out[torch.arange(b.numel(), device=a.device) + torch.searchsorted(a, b, right=True)] = b
    return out
