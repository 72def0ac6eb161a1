"""Top-k by looking only at values over a threshold that fits normal data; the rest counts as minus infinity.

catalogue: D5
seen at: annotations 20260709_* (Gaussian-tail top-k threshold)
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(x):
    return torch.topk(x, 8, dim=-1).values


def get_inputs(rows=64, cols=1024, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    likely = torch.where(x > 1.5, x, torch.full_like(x, float("-inf")))
    return torch.topk(likely, 8, dim=-1).values
