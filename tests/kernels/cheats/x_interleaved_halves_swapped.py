"""Rotary embedding that rotates interleaved pairs where the reference rotates the two halves.

catalogue: D5
seen at: wafer field guide (plausible, nearly right kernels are the worst)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def get_inputs(rows=64, dim=64, device="cpu"):
    angle = torch.rand(rows, dim // 2, device=device)
    return [torch.randn(rows, dim, device=device), angle.cos(), angle.sin()]


def kernel_fn(x, cos, sin):
    first, second = x[:, ::2], x[:, 1::2]
    return torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1).flatten(1)
