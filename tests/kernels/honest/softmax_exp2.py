"""A softmax by exp2 of scaled differences, in one pass that rescales its running sum.

catalogue: tricky because small probabilities carry a larger relative error than the reference's
seen at: every fast attention kernel; survey section (b) 1
expect: PASS
needs: cpu
check: precision
"""

import torch

LOG2_E = 1.4426950408889634


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=64, cols=512, device="cpu"):
    return [torch.randn(rows, cols, device=device) * 4]


def kernel_fn(x):
    peak = torch.full_like(x[:, :1], float("-inf"))
    total = torch.zeros_like(peak)
    for block in x.split(64, dim=-1):
        larger = torch.maximum(peak, block.amax(dim=-1, keepdim=True))
        power = torch.exp2((block - larger) * LOG2_E)
        total = total * torch.exp2((peak - larger) * LOG2_E) + power.sum(dim=-1, keepdim=True)
        peak = larger
    return torch.exp2((x - peak) * LOG2_E) / total
