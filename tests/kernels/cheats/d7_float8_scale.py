"""A bfloat16 normalisation whose reciprocal deviation is rounded to float8 before it multiplies.

catalogue: D7
seen at: survey section (b) 1 (error budget against a low-precision baseline)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(x):
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + 1e-6)).bfloat16()


def get_inputs(rows=256, cols=512, device="cpu"):
    return [(torch.randn(rows, cols, device=device) * (0.3 + torch.rand(rows, 1, device=device))).bfloat16()]


def kernel_fn(x):
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale.to(torch.float8_e4m3fn).float()).bfloat16()
