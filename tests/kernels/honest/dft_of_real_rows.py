"""A radix-2 FFT of real rows; the last bin has no imaginary part, of which a float64 reference leaves 1e-16.

catalogue: tricky because a zero of the kernel is no digit of what the reference says
seen at: held-out file of a stranger, rejected for lost values where rows are short
expect: PASS
needs: cpu
check: values
"""
import math

import torch


def reference_fn(x):
    n = x.shape[-1]
    k = torch.arange(n, dtype=torch.float64)
    angle = -2 * math.pi / n * ((k[:, None] * k[None, : n // 2 + 1]) % n)
    w = torch.complex(angle.cos(), angle.sin())
    return (x.to(torch.complex128) @ w).to(torch.complex64)


_twiddle = {}


def kernel_fn(x):
    n = x.shape[-1]
    if n & (n - 1):
        raise ValueError("the length must be a power of two")
    z = x.to(torch.complex64)[..., None]  # (rows, n, 1)
    half = n // 2
    while z.shape[-2] > 1:
        m, s = z.shape[-2] // 2, z.shape[-1]
        if (m, s) not in _twiddle:
            a = -2 * math.pi * torch.arange(s, dtype=torch.float64) / (2 * s)
            _twiddle[m, s] = torch.complex(a.cos(), a.sin()).to(torch.complex64)
        even, odd = z[..., :m, :], z[..., m:, :] * _twiddle[m, s]
        z = torch.cat([even + odd, even - odd], -1)
    return z[..., 0, : half + 1].contiguous()


def get_inputs(rows=7, n=128, device="cpu"):
    return [torch.randn(rows, n)]


TEST_CASES = {"two": {"n": 2, "rows": 1}, "n16": {"n": 16}, "n32": {"n": 32}}
