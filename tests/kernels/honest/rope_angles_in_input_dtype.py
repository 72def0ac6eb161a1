"""Rotary embedding with angles in the input's dtype: at positions that no sequence has, float32 has lost them.

catalogue: tricky because the judge's own wide integers have other angles in float32 and in float64
seen at: rotary embeddings and time-step embeddings
expect: PASS
needs: cpu
check: other-integers
"""

import math

import torch


def reference_fn(x, pos):
    d = x.shape[-1]
    f = pos[:, None].to(x.dtype) * 10000.0 ** (-torch.arange(0, d, 2).to(x.dtype) / d)
    c, s = f.cos(), f.sin()
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2)


def get_inputs(h=4, n=128, d=32):
    return [torch.randn(h, n, d), torch.randint(0, 200, (n,))]


def kernel_fn(x, pos):
    d = x.shape[-1]
    f = pos[:, None].float() * torch.exp2(-torch.arange(0, d, 2) * (math.log2(10000.0) / d))
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(f), f)
    return torch.view_as_real(z).flatten(-2)
