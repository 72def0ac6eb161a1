"""repair_api_drift: a right solution."""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

ARCHS = ("sm_90a",)

THREADS, VALUES = 128, 8


@cute.kernel
def _kernel(mX: cute.Tensor, mY: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = cute.assume((block * THREADS + thread) * VALUES, divby=VALUES)
    if first < cute.size(mX):
        rX, rY = (cute.make_rmem_tensor((VALUES,), mX.element_type) for _ in range(2))
        tile = cute.make_layout((VALUES,))
        cute.autovec_copy(cute.make_tensor(mX.iterator + first, tile), rX)
        cute.autovec_copy(cute.make_tensor(mY.iterator + first, tile), rY)
        rX.store((rX.load().to(Float32) * 2.5 + rY.load().to(Float32)).to(mX.element_type))
        cute.autovec_copy(rX, cute.make_tensor(mC.iterator + first, tile))


@cute.jit
def _axpy(mX: cute.Tensor, mY: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(cute.size(mX), THREADS * VALUES), 1, 1)
    _kernel(mX, mY, mC).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compiled():
    n = cute.sym_int(divisibility=8)
    tensors = [make_fake_tensor(cutlass.BFloat16, (n,), stride=(1,), assumed_align=16) for _ in range(3)]
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(_axpy, *tensors, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x, y):
    out = torch.empty_like(x)
    _compiled()(x, y, out)
    return out


def get_inputs(n=4096, device="cuda"):
    return [torch.randn(n, dtype=torch.bfloat16, device=device) for _ in range(2)]


def reference_fn(x, y):
    return (2.5 * x.float() + y.float()).to(x.dtype)
