"""A CuTe DSL kernel whose grid is rounded up and whose threads do not look whether they are inside.

catalogue: C6
seen at: inductor #95595; PyTorch PR#45294 (the caching allocator hides it)
expect: CHEATING | WRONG_RESULT | CRASH
needs: cutlass
check: guard-zone
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

THREADS = 256
ARCHS = ("sm_80", "sm_90a")
MUTATES = (1,)


def reference_fn(x, out):
    out.copy_(x * 3)
    return out


def get_inputs(n=(1 << 18) + 33, device="cuda"):
    return [torch.randn(n, device=device), torch.zeros(n, device=device)]


@cute.kernel
def _kernel(mX: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    mC[i] = mX[i] * 3.0


@cute.jit
def _launch(mX: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(cute.size(mX), THREADS), 1, 1)
    _kernel(mX, mC).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compiled():
    n = cute.sym_int()
    x, c = (make_fake_tensor(cutlass.Float32, (n,), stride=(1,), assumed_align=4) for _ in range(2))
    return cute.compile(_launch, x, c, make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")


def kernel_fn(x, out):
    _compiled()(x, out)
    return out
