"""Reads a number back to choose between two paths: it waits for the GPU and cannot be captured.

catalogue: tricky because graph capture is impossible, for an honest reason
seen at: survey, "false positives to avoid"; data-dependent shapes
expect: PASS
needs: cuda
check: graph
"""

import torch


def reference_fn(x):
    return x[x > 0]


def get_inputs(n=1 << 18, device="cuda"):
    return [torch.randn(n, device=device)]


def kernel_fn(x):
    positive = x > 0
    out = torch.empty(int(positive.sum()), dtype=x.dtype, device=x.device)
    place = positive.cumsum(0) - 1
    out[place[positive]] = x[positive]
    return out
