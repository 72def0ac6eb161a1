"""Quantises blocks of 32 to float8 with a power-of-two scale in float8_e8m0.

catalogue: tricky because of a result dtype that has no zero, no sign and no fraction
seen at: OCP microscaling formats
expect: PASS
needs: cpu
check: dtypes
"""

import torch


def reference_fn(x):
    blocks = x.float().reshape(x.shape[0], -1, 32)
    exponent = torch.floor(torch.log2(blocks.abs().amax(-1).clamp_min(2.0**-100))) - 8
    scale = torch.exp2(exponent)
    q = (blocks / scale[..., None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q.reshape(x.shape), scale.to(torch.float8_e8m0fnu)


def get_inputs(rows=32, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device).bfloat16()]


def kernel_fn(x):
    blocks = x.float().unflatten(-1, (-1, 32))
    _, exponent = torch.frexp(blocks.abs().amax(-1).clamp_min(2.0**-100))
    scale = torch.ldexp(torch.ones(()), exponent - 9)
    q = (blocks * (1 / scale)[..., None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q.flatten(-2), scale.to(torch.float8_e8m0fnu)
