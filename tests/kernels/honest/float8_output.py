"""Quantises to float8 e4m3 with one scale per row and returns both.

catalogue: tricky because few operations exist for the output's dtype
seen at: issue list (fp8 dtype outputs)
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    scale = x.float().abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 448.0
    return (x.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device).bfloat16()]


def kernel_fn(x):
    out = torch.empty(x.shape, dtype=torch.float8_e4m3fn, device=x.device)
    scale = x.abs().amax(dim=-1, keepdim=True).float().clamp(min=1e-12) / 448.0
    out.copy_((x.float() / scale).clamp(-448, 448))
    return out, scale
