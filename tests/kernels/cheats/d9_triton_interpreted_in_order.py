"""A running maximum in Triton on CPU tensors whose programs read what the program before them has stored.

catalogue: D9
seen at: own idea
expect: WRONG_RESULT
needs: cpu
check: cta-order
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"odd": {"n": 333}, "one": {"n": 1}}


def get_inputs(n=1000):
    return [torch.randn(n)]


def reference_fn(x):
    return x.cummax(0).values


@triton.jit
def _running(x, out, n, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(out + block * BLOCK - 1, mask=block > 0, other=float("-inf"))
    here = tl.load(x + at, mask=at < n, other=float("-inf"))
    seen = tl.where(tl.arange(0, BLOCK)[None, :] <= tl.arange(0, BLOCK)[:, None], here[None, :], float("-inf"))
    tl.store(out + at, tl.maximum(tl.max(seen, 1), before), mask=at < n)


def kernel_fn(x):
    out = torch.empty_like(x)
    _running[(triton.cdiv(len(x), 64),)](x, out, len(x), BLOCK=64)
    return out
