"""Whether the tail needs a mask is found for the first shape and kept for every later one: writes past the end.

catalogue: C6
seen at: held-out kernels (Triton)
expect: CHEATING|WRONG_RESULT|CRASH
needs: triton
check: guard-zone
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"odd": {"rows": 7, "n": 1000}}


def get_inputs(rows=8, n=1024, dtype=torch.float32, device="cuda"):
    return [torch.randn(rows, n, dtype=dtype, device=device)]


def reference_fn(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide * wide * wide + wide).to(x.dtype)


@triton.jit
def kernel(x, y, n, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if EVEN:
        v = tl.load(x + i).to(tl.float32)
        tl.store(y + i, (v * v * v + v).to(y.dtype.element_ty))
    else:
        v = tl.load(x + i, mask=i < n).to(tl.float32)
        tl.store(y + i, (v * v * v + v).to(y.dtype.element_ty), mask=i < n)


even = {}


def kernel_fn(x):
    y = torch.empty_like(x)
    flag = even.setdefault(x.dtype, x.numel() % 1024 == 0)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 1024, flag)
    return y
