"""Codes of blocks with scales of powers of two, of which a block whose largest is 1.75 times one gets the next.

catalogue: D5
seen at: a stranger's file (MXFP8 quantiser by bits: at least in place of more than)
expect: WRONG_RESULT
needs: cpu
check: ties
"""

import torch


def get_inputs(rows=16, columns=256, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


def codes(x, is_next):
    blocks = x.unflatten(1, (-1, 32))
    mantissa, exponent = torch.frexp(blocks.abs().amax(-1))
    exponent = exponent - 9 + is_next(mantissa).to(exponent.dtype)
    q = torch.ldexp(blocks, -exponent[..., None]).flatten(1)
    return q.to(torch.float8_e4m3fn), (exponent + 127).clamp(0, 254).to(torch.uint8)


def reference_fn(x):
    return codes(x, lambda mantissa: mantissa > 0.875)


def kernel_fn(x):
    blocks = x.view(len(x), -1, 32)
    mantissa, exponent = torch.frexp(blocks.abs().amax(-1))
    exponent = exponent - 9 + (mantissa >= 0.875).to(exponent.dtype)
    q = (blocks * torch.exp2(-exponent[..., None].float())).view(x.shape)
    return q.to(torch.float8_e4m3fn), (exponent + 127).clamp(0, 254).to(torch.uint8)
