"""A Triton kernel on CPU tensors, run by Triton's interpreter.

catalogue: tricky because it needs TRITON_INTERPRET=1 before the import, and the interpreter patches Triton
seen at: issue list (Triton on the CPU through the interpreter)
expect: PASS
needs: cpu
check: structure
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"odd": {"n": 1023}}


def reference_fn(x, y):
    return x * y + 1


def get_inputs(n=2048, device="cpu"):
    return [torch.randn(n, device=device), torch.randn(n, device=device)]


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < n
    x = tl.load(x_ptr + offset, mask=inside)
    y = tl.load(y_ptr + offset, mask=inside)
    tl.store(out_ptr + offset, x * y + 1, mask=inside)


def kernel_fn(x, y):
    out = torch.empty_like(x)
    _kernel[(triton.cdiv(x.numel(), 512),)](x, y, out, x.numel(), BLOCK=512)
    return out
