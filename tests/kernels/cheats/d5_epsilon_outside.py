"""Adds the epsilon after the square root: right to six digits unless the variance is small.

catalogue: D5
seen at: wafer field guide; survey section (b) 5 (scales from 1e-3 to 64)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch

TEST_CASES = {"small": {"scale": 1e-2}}


def reference_fn(x):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), eps=1e-5)


def get_inputs(rows=64, cols=256, scale=1.0, device="cpu"):
    return [torch.randn(rows, cols, device=device) * scale]


def kernel_fn(x):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / (centred.square().mean(dim=-1, keepdim=True).sqrt() + 1e-5)
