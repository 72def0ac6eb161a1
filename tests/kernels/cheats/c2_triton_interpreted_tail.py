"""A Triton kernel on CPU tensors whose grid is rounded down, so that the last block is never written.

catalogue: C2
seen at: survey row C2; helion#1334
expect: WRONG_RESULT | CHEATING
needs: cpu
check: poison
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"odd": {"n": 1500}}


def reference_fn(x):
    return torch.sqrt(x.abs())


def get_inputs(n=2048, device="cpu"):
    return [torch.randn(n, device=device)]


@triton.jit
def _root(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offset, mask=offset < n)
    tl.store(out_ptr + offset, tl.sqrt(tl.abs(x)), mask=offset < n)


def kernel_fn(x):
    out = torch.empty_like(x)
    _root[(x.numel() // 512,)](x, out, x.numel(), BLOCK=512)
    return out
