"""Dropout with a generator of its own, seeded by an input: the same seed gives the same mask.

catalogue: tricky because it draws random numbers and leaves every global generator alone
seen at: survey spec f.9 (generator state before and after)
expect: PASS
needs: cpu
check: tampering-state
"""

import torch


def reference_fn(x, seed):
    generator = torch.Generator(device=x.device).manual_seed(seed)
    keep = torch.rand(x.shape, generator=generator, device=x.device) >= 0.25
    return x * keep / 0.75


def get_inputs(rows=64, cols=256, seed=1234, device="cpu"):
    return [torch.randn(rows, cols, device=device), seed]


def kernel_fn(x, seed):
    generator = torch.Generator(device=x.device).manual_seed(seed)
    draw = torch.empty(x.shape, device=x.device).uniform_(generator=generator)
    return torch.where(draw >= 0.25, x / 0.75, x * 0)
