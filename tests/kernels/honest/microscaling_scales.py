"""MXFP8 blocks of 32 with PyTorch's own e8m0 scales, which normally distributed values make all but equal.

catalogue: tricky because a scale without mantissa bits is as far from its neighbour as from nothing
seen at: microscaling quantisers
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    w = x.to(torch.promote_types(x.dtype, torch.float32)).unflatten(1, (-1, 32))
    amax = w.abs().amax(-1).clamp_min(2.0**-100)
    exponent = torch.floor(torch.log2(amax)) - 8
    q = (w * torch.exp2(-exponent)[..., None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q.flatten(1), (exponent + 127).to(torch.uint8).view(torch.float8_e8m0fnu)


def kernel_fn(x):
    w = x.float().view(len(x), -1, 32)
    amax = torch.maximum(w.amax(-1), -w.amin(-1)).clamp_min(2.0**-100)
    biased = ((amax.view(torch.int32) >> 23) & 0xFF) - 8
    inverse = ((254 - biased) << 23).view(torch.float32)
    q = (w * inverse[..., None]).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q.view(x.shape), biased.to(torch.uint8).view(torch.float8_e8m0fnu)


def get_inputs(m=16, k=256, device="cpu"):
    return [torch.randn(m, k, dtype=torch.bfloat16, device=device)]


TEST_CASES = {"one": {"m": 1, "k": 32}}
