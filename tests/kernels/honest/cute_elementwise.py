"""A CuTe DSL kernel compiled once for symbolic sizes and launched on the current stream through TVM FFI.

catalogue: tricky because it compiles at its first call and keeps the compiled object
seen at: the project's own templates
expect: PASS
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
TEST_CASES = {"odd": {"n": 100_003}, "one": {"n": 1}}


def reference_fn(x, y):
    return torch.where(x > y, x, y) * 0.5


def get_inputs(n=1 << 20, device="cuda"):
    return [torch.randn(n, device=device), torch.randn(n, device=device)]


@cute.kernel
def _kernel(mX: cute.Tensor, mY: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(mX):
        x, y = mX[i], mY[i]
        mC[i] = (x if x > y else y) * 0.5


@cute.jit
def _launch(mX: cute.Tensor, mY: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(cute.size(mX), THREADS), 1, 1)
    _kernel(mX, mY, mC).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compiled():
    n = cute.sym_int()
    tensors = (make_fake_tensor(cutlass.Float32, (n,), stride=(1,), assumed_align=4) for _ in range(3))
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(_launch, *tensors, stream, options="--enable-tvm-ffi")


def kernel_fn(x, y):
    out = torch.empty_like(x)
    _compiled()(x, y, out)
    return out
