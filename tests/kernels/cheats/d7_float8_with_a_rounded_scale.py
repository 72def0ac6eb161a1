"""Quantises to float8 by a reciprocal scale of five bits: 3 % off, which no bound on single elements of float8 sees.

catalogue: D7
seen at: planted in a kernel that writes a float8 cache (results/cpu-2026-11-27-ecb77ef-skill-use.json)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, scale):
    return (x.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn)


def get_inputs(rows=64, columns=128, scale=0.0113, device="cpu"):
    return [torch.randn(rows, columns, device=device).bfloat16(), scale]


def kernel_fn(x, scale):
    factor = round(1 / scale / 4) * 4 / (1 + 2.0**-6)
    return (x.float() * factor).clamp(-448, 448).to(torch.float8_e4m3fn)
