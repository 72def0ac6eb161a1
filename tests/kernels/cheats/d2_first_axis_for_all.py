"""Rotary embedding of three axes that takes the first one's positions for all, as text has them.

catalogue: D2
seen at: multimodal rotary embeddings tested on text
expect: WRONG_RESULT | CHEATING
needs: cpu
check: other-integers
"""

import torch


def reference_fn(x, pos):
    d = x.shape[-1] // 2
    inv = 10000.0 ** (-torch.arange(d).to(x.dtype) / d)
    axis = torch.arange(d) % 3
    ang = pos[axis].T.to(x.dtype) * inv
    a, b = x.chunk(2, -1)
    return torch.cat([a * ang.cos() - b * ang.sin(), b * ang.cos() + a * ang.sin()], -1)


def get_inputs(h=4, n=24, d=48):
    return [torch.randn(h, n, d), torch.arange(n).expand(3, n).contiguous()]


def kernel_fn(x, pos):
    d = x.shape[-1] // 2
    inv = 10000.0 ** (-torch.arange(d).float() / d)
    ang = pos[0][:, None].float() * inv
    a, b = x.chunk(2, -1)
    return torch.cat([a * ang.cos() - b * ang.sin(), b * ang.cos() + a * ang.sin()], -1)
