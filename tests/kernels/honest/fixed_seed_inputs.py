"""get_inputs draws from a generator of its own with a fixed seed; the kernel is right for any values.

catalogue: tricky because the inputs are the same in every process
seen at: common in generated files; the honest twin of cheats/a7_fixed_seed_constant.py
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x, weight):
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, 1e-6)


def get_inputs(rows=64, cols=256, device="cpu"):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, cols, generator=generator)
    return [x.to(device), torch.randn(cols, generator=generator).to(device)]


def kernel_fn(x, weight):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6) * weight
