"""A CuTe DSL kernel that scales a matrix in place and takes its inputs with a run-time row stride.

catalogue: tricky because it mutates a strided view, declared, beside memory that it may not touch
seen at: survey, "false positives to avoid" (in-place operations); issue list (strided views)
expect: PASS
needs: cutlass
check: guard-zone
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Int64
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

THREADS = 128
ARCHS = ("sm_80", "sm_90a")
MUTATES = (0,)
TEST_CASES = {"padded": {"pad": 5}, "narrow": {"cols": 3}}


def reference_fn(x, scale):
    x *= scale[:, None]
    return x


def get_inputs(rows=777, cols=512, pad=0, device="cuda"):
    return [torch.randn(rows, cols + pad, device=device)[:, :cols], torch.randn(rows, device=device)]


@cute.kernel
def _kernel(mX: cute.Tensor, mS: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    scale = mS[row]
    for col in range(thread, mX.shape[1], THREADS):
        mX[row, col] = mX[row, col] * scale


@cute.jit
def _launch(mX: cute.Tensor, mS: cute.Tensor, stream: cuda.CUstream):
    _kernel(mX, mS).launch(grid=(mX.shape[0], 1, 1), block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compiled():
    rows, cols = cute.sym_int(), cute.sym_int()
    stride = (cute.sym_int64(), 1)
    x = make_fake_tensor(cutlass.Float32, (rows, cols), stride=stride, assumed_align=4)
    s = make_fake_tensor(cutlass.Float32, (rows,), stride=(1,), assumed_align=4)
    return cute.compile(_launch, x, s, make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")


def kernel_fn(x, scale):
    _compiled()(x, scale)
    return x
