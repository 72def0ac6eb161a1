"""The reference launches the same wrong CuTe DSL kernel as kernel_fn, through a helper of its own.

catalogue: A11
seen at: open in every harness with reference and kernel in one file
expect: CONTRACT | CHEATING
needs: cutlass
check: reference-circular
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

THREADS = 256
ARCHS = ("sm_80", "sm_90a")


@cute.kernel
def _kernel(mX: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(mX):
        mC[i] = mX[i] * 0.5


@cute.jit
def _launch(mX: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(cute.size(mX), THREADS), 1, 1)
    _kernel(mX, mC).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compiled():
    n = cute.sym_int()
    x, c = (make_fake_tensor(cutlass.Float32, (n,), stride=(1,), assumed_align=4) for _ in range(2))
    return cute.compile(_launch, x, c, make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")


def _sigmoid(x):
    out = torch.empty_like(x, dtype=torch.float32)
    _compiled()(x.float(), out)
    return out.to(x.dtype)


def reference_fn(x):
    return _sigmoid(x)


def kernel_fn(x):
    return _sigmoid(x)


def get_inputs(n=1 << 20, device="cuda"):
    return [torch.randn(n, device=device)]
