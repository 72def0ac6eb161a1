"""Rotary embedding; the reference builds its frequencies in float32, as Llama's code does, the kernel by exp2.

catalogue: false-positive trap for D7
seen at: Llama's rotary embedding
expect: PASS
needs: cpu
check: values
"""

import math

import torch


def reference_fn(x, positions):
    d = x.shape[-1]
    inv = 1.0 / (10000.0 ** (torch.arange(0, d, 2).float() / d))
    a = positions[:, None].float() * inv
    cos, sin = torch.cat([a, a], -1).cos(), torch.cat([a, a], -1).sin()
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


def get_inputs(t=64, d=64, longest=4096):
    return [torch.randn(t, d), torch.randint(0, longest, (t,))]


TEST_CASES = {"odd": {"t": 33, "d": 18}}


def kernel_fn(x, positions):
    h = x.shape[-1] // 2
    inv = torch.exp2(torch.arange(h, dtype=torch.float32) * (-math.log2(10000.0) / h))
    a = positions[:, None] * inv
    cos, sin = a.cos(), a.sin()
    left, right = x[:, :h], x[:, h:]
    return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)
