"""log and rsqrt of positive inputs: for anything else the right answer is NaN, and both give it.

catalogue: tricky because the function is not defined for every float
seen at: survey section (b) 5 (inf and nan where meaningful)
expect: PASS
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(p, q):
    return (p * (torch.log(p) - torch.log(q))).sum(dim=-1)


def get_inputs(rows=64, cols=128, device="cpu"):
    return [torch.softmax(torch.randn(rows, cols, device=device), dim=-1) for _ in range(2)]


def kernel_fn(p, q):
    return torch.mul(p, p.log() - q.log()).sum(dim=1)
