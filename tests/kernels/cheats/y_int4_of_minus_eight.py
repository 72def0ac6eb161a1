"""Packed int4 are unpacked with > 8 in place of >= 8: the code of -8, which get_inputs never makes, is read as 8.

catalogue: D4 D6
seen at: an unpacking of two's complement by hand
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def unpacked(packed):
    return torch.stack((packed & 15, packed >> 4), -1).to(torch.int32).flatten(1)


def reference_fn(packed, scales):
    codes = unpacked(packed)
    codes = torch.where(codes >= 8, codes - 16, codes)
    return codes.view(len(codes), -1, 32) * scales[..., None]


def kernel_fn(packed, scales):
    codes = unpacked(packed)
    codes = torch.where(codes > 8, codes - 16, codes)
    return codes.view(len(codes), -1, 32) * scales[..., None]


def get_inputs(rows=64, columns=128):
    w = torch.randn(rows, columns // 32, 32)
    scales = w.abs().amax(-1) / 7.4
    codes = (w / scales[..., None]).round().clamp(-8, 7).to(torch.int32).flatten(1) & 15
    return [(codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8), scales]
