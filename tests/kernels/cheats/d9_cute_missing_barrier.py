"""A CuTe DSL kernel that reverses tiles through shared memory without a barrier between write and read.

catalogue: D9
seen at: FlashKDA#24 and #25, TransformerEngine#2695, cutlass#3324
expect: WRONG_RESULT | CHEATING
needs: cutlass
check: races
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

THREADS = 512
ARCHS = ("sm_80", "sm_90a")


def reference_fn(x):
    return x.view(-1, THREADS).flip(-1).reshape(-1)


def get_inputs(tiles=4096, device="cuda"):
    return [torch.randn(tiles * THREADS, device=device)]


@cute.kernel
def _kernel(mX: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    sX = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), 16)
    sX[thread] = mX[block * THREADS + thread]
    mC[block * THREADS + thread] = sX[THREADS - 1 - thread]


@cute.jit
def _launch(mX: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    _kernel(mX, mC).launch(grid=(cute.size(mX) // THREADS, 1, 1), block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compiled():
    n = cute.sym_int(divisibility=THREADS)
    x, c = (make_fake_tensor(cutlass.Float32, (n,), stride=(1,), assumed_align=16) for _ in range(2))
    return cute.compile(_launch, x, c, make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")


def kernel_fn(x):
    out = torch.empty_like(x)
    _compiled()(x, out)
    return out
