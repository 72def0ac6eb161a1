"""A CuTe DSL kernel launched on stream 0 whatever the current stream is: under capture the graph stays empty.

catalogue: B5
seen at: flashinfer-bench#414, helion#2817 (8 ns), Liger-Kernel#1450, tritonbench#752
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


def get_inputs(n=1 << 22, device="cuda"):
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
    return cute.compile(_launch, x, c, make_fake_stream(), options="--enable-tvm-ffi")


def kernel_fn(x):
    out = torch.empty_like(x)
    _compiled()(x, out, cuda.CUstream(0))
    return out
