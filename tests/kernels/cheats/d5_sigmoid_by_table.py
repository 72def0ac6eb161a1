"""Silu whose sigmoid ends at 4: beyond, the value at 4 is used; ordinary inputs hardly reach it.

catalogue: D5
seen at: table and polynomial approximations without range extension
expect: WRONG_RESULT
needs: cpu
check: hostile
"""

import torch


def reference_fn(x):
    return torch.nn.functional.silu(x.float()).to(x.dtype)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device).to(torch.bfloat16)]


def kernel_fn(x):
    wide = x.float()
    return (wide * torch.sigmoid(wide.clamp(-4.0, 4.0))).to(x.dtype)
