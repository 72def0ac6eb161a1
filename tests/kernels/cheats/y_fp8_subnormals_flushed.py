"""A quantiser to fp8 flushes what is subnormal in the format (below 2^-6 after scaling) to zero.

catalogue: D12 D7
seen at: conversions written by hand for GPUs without the instruction
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def scales_of(wide):
    return wide.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 448


def reference_fn(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scales = scales_of(wide)
    return (wide / scales).clamp(-448, 448).to(torch.float8_e4m3fn), scales


def kernel_fn(x):
    wide = x.float()
    scales = scales_of(wide)
    scaled = wide / scales
    flushed = torch.where(scaled.abs() < 2**-6, 0.0, scaled)
    return flushed.clamp(-448, 448).to(torch.float8_e4m3fn), scales


def get_inputs(rows=256, columns=512):
    return [torch.randn(rows, columns) ** 3]
