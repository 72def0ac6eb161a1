"""Counts and scales of zero, of which the reference makes something and the kernel does not: it says so, or divides.

catalogue: D5
seen at: kernels that size their grid by a count, and scale by a reciprocal
expect: PASS
needs: cpu
check: other-values
"""

import torch


def reference_fn(x, steps, scale):
    for _ in range(steps):
        x = 0.5 * x + 1.0
    return torch.where(torch.tensor(scale == 0), x, x / max(scale, 1e-30))


def get_inputs(rows=48, columns=130, steps=3, scale=1.5, device="cpu"):
    return [torch.randn(rows, columns, device=device), steps, scale]


def kernel_fn(x, steps, scale):
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    for _ in range(steps):
        x = 0.5 * x + 1.0
    return x * torch.full_like(x, scale).reciprocal()
