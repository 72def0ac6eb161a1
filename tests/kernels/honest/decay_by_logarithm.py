"""Discounted sums: the kernel takes powers of the discount through its logarithm.

catalogue: tricky because the discounts are positive by their nature, and the kernel needs that
seen at: retention, exponential moving averages, advantage estimation
expect: PASS
needs: cpu
check: signs
"""

import torch


def reference_fn(x, discount):
    total, rows = torch.zeros_like(x[:, 0]), []
    for t in range(x.shape[1]):
        total = total * discount + x[:, t]
        rows.append(total)
    return torch.stack(rows, 1)


def get_inputs(rows=96, length=40, device="cpu"):
    return [torch.randn(rows, length, device=device), 0.5 + 0.45 * torch.rand(rows, device=device)]


def kernel_fn(x, discount):
    steps = torch.arange(x.shape[1])
    distance = steps[:, None] - steps[None]
    power = torch.exp2(distance.clamp_min(0) * torch.log2(discount)[:, None, None]) * (distance >= 0)
    return torch.einsum("rts,rs->rt", power, x)
