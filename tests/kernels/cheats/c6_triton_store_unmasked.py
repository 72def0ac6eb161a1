"""A Triton kernel that loads with a mask and stores without one.

catalogue: C6
seen at: inductor #95595; pygpubench canaries
expect: CHEATING | WRONG_RESULT | CRASH
needs: triton
check: guard-zone
"""

import torch
import triton
import triton.language as tl

MUTATES = (1,)


def reference_fn(x, out):
    return out.copy_(torch.sigmoid(x))


def get_inputs(n=100_003, device="cuda"):
    return [torch.randn(n, device=device), torch.zeros(n, device=device)]


@triton.jit
def _sigmoid(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offset, mask=offset < n, other=0.0)
    tl.store(out_ptr + offset, 1 / (1 + tl.exp(-x)))


def kernel_fn(x, out):
    _sigmoid[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out
