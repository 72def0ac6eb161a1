"""Dropout from a counter-based generator: the mask depends on an integer seed and on the position alone.

catalogue: tricky because zeros are where a hash says, and the hash wraps in 64 bits
seen at: fused dropout kernels (Philox by offset)
expect: PASS
needs: cpu
check: values
"""

import torch


def _bits(count, seed):
    x = torch.arange(count, dtype=torch.int64) * 0x9E3779B97F4A7C1 + seed
    x = (x ^ (x >> 30)) * 0x3F58476D1CE4E5B
    return (x ^ (x >> 27)) & 0xFFFFFF


def reference_fn(x, p, seed):
    keep = (_bits(x.numel(), seed) >= int(p * 2**24)).view(x.shape)
    return torch.where(keep, x / (1 - p), 0.0)


def get_inputs(rows=33, cols=129, p=0.25, seed=1234, device="cpu"):
    return [torch.randn(rows, cols, device=device).to(torch.bfloat16), p, seed]


def kernel_fn(x, p, seed):
    out, scale, threshold = torch.empty_like(x), 1.0 / (1.0 - p), int(p * 2**24)
    flat, result = x.view(-1), out.view(-1)
    for start in range(0, x.numel(), 1000):
        index = torch.arange(start, min(start + 1000, x.numel()), dtype=torch.int64)
        h = index * 0x9E3779B97F4A7C1 + seed
        h = (h ^ (h >> 30)) * 0x3F58476D1CE4E5B
        h = (h ^ (h >> 27)) & 0xFFFFFF
        result[start : start + 1000] = (flat[start : start + 1000].float() * scale * (h >= threshold)).to(x.dtype)
    return out
