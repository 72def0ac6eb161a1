"""SiLU in place over blocks of 64 elements by 128 threads: half of them load what another one stores.

catalogue: tricky because the threads past the block read its elements as well, without being ordered, and store nothing
seen at: Triton kernels that change activations, gradients or parameters in place
expect: PASS
needs: triton
check: values
"""

import torch
import triton
import triton.language as tl

MUTATES = (0,)


@triton.jit
def silu_kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(x_ptr + i, (x * tl.sigmoid(x)).to(x_ptr.dtype.element_ty), mask=i < n)


def kernel_fn(x):
    silu_kernel[(triton.cdiv(x.numel(), 64),)](x, x.numel(), BLOCK=64)
    return x


def reference_fn(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    x.copy_(torch.nn.functional.silu(wide).to(x.dtype))
    return x


def get_inputs(n=200, dtype=torch.float16):
    return [torch.randn(n, dtype=dtype, device="cuda")]


TEST_CASES = {"odd": {"n": 33}, "fp32": {"dtype": torch.float32}}
