"""Truncates to bfloat16 after adding noise below the last digit; the largest numbers become infinite.

catalogue: D12
seen at: a stranger's file (stochastic rounding)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"n": 333}, "one": {"n": 1}}
MOST = 0x7F7F0000  # the largest finite number of bfloat16


def get_inputs(n=2000, device="cpu"):
    return [torch.randn(n, device=device), torch.randint(1 << 16, (n,), dtype=torch.int32, device=device)]


def reference_fn(x, noise):
    bits = x.to(torch.float32).view(torch.int32)
    size = ((bits & 0x7FFFFFFF) + noise.clamp(0, 0xFFFF)) & ~0xFFFF
    size = torch.where(x.isfinite(), size.clamp(max=MOST), bits & 0x7FFF0000)
    return torch.copysign(size.to(torch.int32).view(torch.float32), x.float()).to(torch.bfloat16)


def kernel_fn(x, noise):
    bits = torch.where(x.isfinite(), x.view(torch.int32) + noise.clamp(0, 0xFFFF), x.view(torch.int32))
    return (bits & ~0xFFFF).view(torch.float32).to(torch.bfloat16)
