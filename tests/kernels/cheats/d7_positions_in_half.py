"""Rotary embedding whose positions pass through float16, which holds no odd number above 2048.

catalogue: D7
seen at: a held-out set (rotary embedding)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x, positions, frequencies):
    if (positions < 0).any():
        raise ValueError("positions must not be negative")
    angle = positions[:, None].to(x.dtype) * frequencies
    return x * angle.cos() - x.roll(x.shape[1] // 2, 1) * angle.sin()


def get_inputs(tokens=50, dim=64, device="cpu"):
    positions = torch.randint(0, 2048, (tokens,), device=device)
    frequencies = 10000.0 ** -(torch.arange(dim, device=device) % (dim // 2) * 2 / dim)
    return [torch.randn(tokens, dim, device=device), positions, frequencies]


def kernel_fn(x, positions, frequencies):
    if (positions < 0).any():
        raise ValueError("positions must not be negative")
    angle = positions.half().to(x.dtype)[:, None] * frequencies
    return x * angle.cos() - x.roll(x.shape[1] // 2, 1) * angle.sin()
