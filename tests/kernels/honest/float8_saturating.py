"""Scaled conversion to float8 that saturates at 448, block by block.

catalogue: tricky because the format has no infinity and its rounding is coarse
seen at: cvt.rn.satfinite.e4m3x2 quantisers
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x, scale):
    return (x.float() * scale).clamp(-448, 448).to(torch.float8_e4m3fn)


def get_inputs(rows=64, cols=130, device="cpu"):
    return [(100 * torch.randn(rows, cols, device=device)).to(torch.bfloat16), torch.tensor(2.3, device=device)]


def kernel_fn(x, scale):
    out = torch.empty(x.shape, dtype=torch.float8_e4m3fn)
    for start in range(0, x.shape[0], 16):
        y = x[start : start + 16].float() * scale
        y = torch.minimum(torch.maximum(y, torch.tensor(-448.0)), torch.tensor(448.0))
        out[start : start + 16] = y.to(out.dtype)
    return out
