"""A CuTe DSL kernel launched on the stream that was current when it was compiled, whatever the call's is.

catalogue: B5
seen at: a stranger's file (PReLU)
expect: WRONG_RESULT | CHEATING | CRASH
needs: cutlass
check: stream
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

THREADS = 256
ARCHS = ("sm_80", "sm_90a")


def reference_fn(x):
    return x * 2 + 1


def get_inputs(n=10_000, device="cuda"):
    return [torch.randn(n, device=device)]


@cute.kernel
def _kernel(mX: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(mX):
        mC[i] = mX[i] * 2.0 + 1.0


@cute.jit
def _launch(mX: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(cute.size(mX), THREADS), 1, 1)
    _kernel(mX, mC).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compiled():
    n = cute.sym_int()
    x, c = (make_fake_tensor(cutlass.Float32, (n,), stride=(1,), assumed_align=4) for _ in range(2))
    stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
    compiled = cute.compile(_launch, x, c, make_fake_stream(), options="--enable-tvm-ffi")
    return lambda x, out: compiled(x, out, stream)


def kernel_fn(x):
    out = torch.empty_like(x)
    _compiled()(x, out)
    return out
