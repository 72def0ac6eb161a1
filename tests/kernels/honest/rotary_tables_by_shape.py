"""Rotary embedding in place; cosines and sines are kept by length and head size.

catalogue: tricky because tables are cached, by what they depend on, and the input changes by declaration
seen at: rotary kernels in inference engines
expect: PASS
needs: cpu
check: replay
"""

import functools

import torch

MUTATES = (0,)


def reference_fn(x, base):
    length, size = x.shape[-2:]
    angle = torch.arange(length)[:, None] * base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x[..., ::2].clone(), x[..., 1::2].clone()
    x[..., ::2] = first * cos - second * sin
    x[..., 1::2] = first * sin + second * cos
    return x


def get_inputs(heads=4, length=70, size=32, base=10000.0, device="cpu"):
    return [torch.randn(heads, length, size, device=device), base]


@functools.lru_cache(maxsize=8)
def _tables(length, size, base):
    angle = torch.outer(torch.arange(length).double(), base ** (-torch.arange(size // 2).double() * 2 / size))
    return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)


def kernel_fn(x, base):
    rotated = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * _tables(*x.shape[-2:], base)
    x.copy_(torch.view_as_real(rotated).flatten(-2))
    return x
