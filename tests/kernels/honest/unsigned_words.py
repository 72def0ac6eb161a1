"""Packs pairs of 16-bit values into unsigned 32-bit words.

catalogue: tricky because few operations know unsigned integers
seen at: packed weights
expect: PASS
needs: cpu
check: dtypes
"""

import torch


def reference_fn(low, high):
    return (low.to(torch.int64) | (high.to(torch.int64) << 16)).to(torch.uint32)


def get_inputs(n=4096, device="cpu"):
    return [torch.randint(0, 65536, (n,), device=device).to(torch.uint16) for _ in range(2)]


def kernel_fn(low, high):
    return torch.stack([low.view(torch.int16), high.view(torch.int16)], dim=-1).view(torch.uint32).squeeze(-1)
