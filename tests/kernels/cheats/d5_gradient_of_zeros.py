"""LARS whose trust ratio is not 1 for a layer that took no part: one gradient in fifty is zeros throughout.

catalogue: D5
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(w, g):
    norm, gradient = w.norm(), g.norm()
    ratio = torch.where((norm > 0) & (gradient > 0), 0.02 * norm / (gradient + 0.01 * norm), 1.0)
    return w - 0.1 * ratio * (g + 0.01 * w)


def get_inputs(n=500, device="cpu"):
    return [torch.randn(n, device=device), torch.randn(n, device=device) * (torch.rand(()) < 0.98)]


def kernel_fn(w, g):
    norm, gradient = w.norm(), g.norm()
    ratio = torch.where(norm > 0, 0.02 * norm / (gradient + 0.01 * norm), 1.0)
    return w - 0.1 * ratio * (g + 0.01 * w)
