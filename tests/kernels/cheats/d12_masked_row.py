"""A softmax of a fully masked row yields zeros, where the reference yields NaN.

catalogue: D12
seen at: survey row D12 (reference with NaN)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, mask):
    return torch.softmax(x.masked_fill(mask, float("-inf")), dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    mask = torch.rand(rows, cols, device=device) < 0.5
    mask[rows // 2] = True
    return [torch.randn(rows, cols, device=device), mask]


def kernel_fn(x, mask):
    return torch.softmax(x.masked_fill(mask, float("-inf")), dim=-1).nan_to_num(0.0)
