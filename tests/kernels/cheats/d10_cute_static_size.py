"""Compiles a CuTe DSL kernel once, for the grid of its first call, and launches that on every later size.

catalogue: D10
seen at: cutlass#2794, PR#3148 (template marked dynamic, the run-time tensor not)
expect: WRONG_RESULT | CHEATING
needs: cutlass
check: values
"""

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

THREADS = 256
ARCHS = ("sm_80", "sm_90a")
TEST_CASES = {"larger": {"n": 300_000}, "smaller": {"n": 200_000}}

_first = []


def reference_fn(x):
    return x * x


def get_inputs(n=250_112, device="cuda"):
    return [torch.randn(n, device=device)]


@cute.kernel
def _kernel(mX: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(mX):
        mC[i] = mX[i] * mX[i]


@cute.jit
def _launch(mX: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream, blocks: cutlass.Constexpr):
    _kernel(mX, mC).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


def _compiled(size):
    n = cute.sym_int()
    x, c = (make_fake_tensor(cutlass.Float32, (n,), stride=(1,), assumed_align=4) for _ in range(2))
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(_launch, x, c, stream, -(-size // THREADS), options="--enable-tvm-ffi")


def kernel_fn(x):
    if not _first:
        _first.append(_compiled(x.numel()))
    out = torch.empty_like(x)
    _first[0](x, out)
    return out
