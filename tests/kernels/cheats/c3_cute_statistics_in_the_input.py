"""A row's statistics go from one warp to the others through the row's first element, which is put back afterwards.

catalogue: C3
seen at: held-out file of a stranger; every trial on an H200 passed
expect: WRONG_RESULT
needs: cutlass
check: simulation
"""

import functools

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

THREADS = 64


@cute.kernel
def log_softmax_kernel(mX: cute.Tensor, mO: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    first = mX[row, 0]
    cute.arch.sync_threads()
    if thread < 32:
        maximum, total = first, Float32(0.0)
        for c in cutlass.range(thread, mX.shape[1], 32, unroll=1):
            maximum = cute.arch.fmax(maximum, mX[row, c])
        maximum = cute.arch.warp_reduction_max(maximum)
        for c in cutlass.range(thread, mX.shape[1], 32, unroll=1):
            total += cute.math.exp(mX[row, c] - maximum)
        total = maximum + cute.math.log(cute.arch.warp_reduction_sum(total))
        if thread == 0:
            mX[row, 0] = total
    cute.arch.sync_threads()
    statistic = mX[row, 0]
    cute.arch.sync_threads()
    if thread == 0:
        mX[row, 0] = first
    for c in cutlass.range(thread, mX.shape[1], THREADS, unroll=1):
        x = first
        if c > 0:
            x = mX[row, c]
        mO[row, c] = x - statistic


@cute.jit
def launch(mX: cute.Tensor, mO: cute.Tensor, stream):
    log_softmax_kernel(mX, mO).launch(grid=(mX.shape[0], 1, 1), block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compile():
    fake = make_fake_tensor(Float32, (cute.sym_int(), cute.sym_int()), (cute.sym_int64(), 1), assumed_align=4)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(launch, fake, fake, stream, options="--enable-tvm-ffi")


def kernel_fn(x):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _compile()(x, out)
    return out


def reference_fn(x):
    return torch.log_softmax(x, -1)


def get_inputs(rows=4, columns=150, device="cuda"):
    return [torch.randn(rows, columns, device=device)]
