"""Rotates interleaved pairs in place, in Triton: each of two warps loads a whole row and stores half of it.

catalogue: tricky because a warp loads what the other one has overwritten, in lanes whose values reach nobody
seen at: rotary embeddings of interleaved pairs
expect: PASS
needs: triton
check: race
"""

import torch
import triton
import triton.language as tl

MUTATES = (0,)


@triton.jit
def rotate(rows, cos, sin, width: tl.constexpr):
    row, pair = tl.program_id(0), tl.arange(0, width // 2)
    places = rows + row * width + tl.arange(0, width)
    first, second = tl.split(tl.reshape(tl.load(places).to(tl.float32), (width // 2, 2)))
    c, s = tl.load(cos + row * (width // 2) + pair), tl.load(sin + row * (width // 2) + pair)
    turned = tl.join(first * c - second * s, first * s + second * c)
    tl.store(places, tl.reshape(turned, (width,)).to(rows.dtype.element_ty))


def kernel_fn(rows, cos, sin):
    rotate[(len(rows),)](rows, cos, sin, rows.shape[1])
    return rows


def reference_fn(rows, cos, sin):
    first, second = rows.to(cos.dtype)[:, ::2], rows.to(cos.dtype)[:, 1::2]
    rows.copy_(torch.stack((first * cos - second * sin, first * sin + second * cos), 2).flatten(1))
    return rows


def get_inputs(rows=20, width=64, device="cuda"):
    angles = torch.rand(rows, width // 2, device=device) * 6
    return [torch.randn(rows, width, device=device).to(torch.float16), angles.cos(), angles.sin()]
