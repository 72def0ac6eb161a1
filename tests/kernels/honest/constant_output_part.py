"""One of its outputs depends on shapes alone, as position tables do; the other on every input.

catalogue: tricky because one output does not move with any input
seen at: survey section (a) D2 (input-impact test, per output)
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x, frequency):
    angle = torch.arange(x.shape[0], device=x.device)[:, None] * frequency
    return x * angle.cos(), torch.arange(x.shape[0], device=x.device)


def get_inputs(rows=64, cols=32, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.rand(cols, device=device)]


def kernel_fn(x, frequency):
    position = torch.arange(x.shape[0], device=x.device)
    return torch.outer(position.to(frequency.dtype), frequency).cos_().mul_(x), position
