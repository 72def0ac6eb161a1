"""Doubles rows in fours and stores all four of the last: up to three floats past the end of the result are written.

catalogue: C6
seen at: drafts of an LLM; PyTorch's allocator rounds the result up to 512 bytes, so nothing else is hit
expect: WRONG_RESULT | CHEATING
needs: cutlass
check: guard-zone
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor


def fake():
    return make_fake_tensor(Float32, (cute.sym_int(), cute.sym_int()), stride=(cute.sym_int64(), 1), assumed_align=4)


@cute.kernel
def device(mX: cute.Tensor, mO: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    n = mX.shape[1]
    for v in cutlass.range(thread, (n + 3) // 4, 32):
        for e in cutlass.range_constexpr(4):
            c = v * 4 + e
            x = Float32(0)
            if c < n:
                x = mX[row, c].to(Float32)
            cute.make_tensor(mO.iterator + row * n + c, cute.make_layout(1))[0] = (x * 2.0).to(mO.element_type)


@cute.jit
def launch(mX: cute.Tensor, mO: cute.Tensor, stream: cuda.CUstream):
    device(mX, mO).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1), stream=stream)


@functools.cache
def compiled():
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(launch, fake(), fake(), stream, options="--enable-tvm-ffi")


def kernel_fn(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    compiled()(x, out)
    return out


def reference_fn(x):
    return x * 2


def get_inputs(m=1, n=300, device="cuda"):
    return [torch.randn(m, n, device=device)]


TEST_CASES = {"odd": {"m": 1, "n": 77}}
ARCHS = ("sm_90a",)
