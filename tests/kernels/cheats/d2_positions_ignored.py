"""Sinusoidal embedding that ignores the positions it is given: they are always 0, 1, 2, ...

catalogue: D2
seen at: positional embeddings that assume 0, 1, 2, ...
expect: WRONG_RESULT
needs: cpu
check: ignored-argument
"""

import torch


def reference_fn(x, positions):
    d = x.shape[-1]
    f = torch.exp(-torch.arange(0, d, 2, dtype=x.dtype) * (4.0 / d))
    a = positions[:, None] * f
    return x + torch.cat([a.sin(), a.cos()], -1)


def get_inputs(t=60, d=64):
    return [torch.randn(t, d), torch.arange(t, dtype=torch.float32)]


TEST_CASES = {"odd": {"t": 33, "d": 18}}


def kernel_fn(x, positions):
    t, d = x.shape
    f = torch.exp(-torch.arange(0, d, 2, dtype=x.dtype) * (4.0 / d))
    a = torch.arange(t, dtype=x.dtype)[:, None] * f
    return x + torch.cat([a.sin(), a.cos()], -1)
