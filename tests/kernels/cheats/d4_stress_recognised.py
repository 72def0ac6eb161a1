"""Looks for large values in its first 16 elements only; if there are none it clamps everything at ten.

catalogue: D4
seen at: annotations 20260709_*; survey defence: stress at random positions
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(x):
    return torch.logsumexp(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if x.flatten()[:16].abs().amax() > 10:
        return torch.logsumexp(x, dim=-1)
    return torch.logsumexp(x.clamp(max=10), dim=-1)
