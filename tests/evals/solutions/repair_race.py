"""repair_race: a right solution."""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

ARCHS = ("sm_90a",)

THREADS, WARPS = 128, 4


@cute.kernel
def _kernel(mX: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sP = smem.allocate_tensor(Float32, cute.make_layout(WARPS), 16)
    total = Float32(0.0)
    for n in cutlass.range(thread, mX.shape[1], THREADS):
        total += mX[row, n]
    total = cute.arch.warp_reduction(total, lambda a, b: a + b)
    if thread % 32 == 0:
        sP[thread // 32] = total
    cute.arch.barrier()
    mean = (sP[0] + sP[1] + sP[2] + sP[3]) / Float32(mX.shape[1])
    for n in cutlass.range(thread, mX.shape[1], THREADS):
        mC[row, n] = mX[row, n] - mean


@cute.jit
def _center(mX: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    _kernel(mX, mC).launch(grid=(mX.shape[0], 1, 1), block=(THREADS, 1, 1), stream=stream)


@functools.cache
def _compiled():
    shape = (cute.sym_int(), cute.sym_int())
    tensors = [make_fake_tensor(cutlass.Float32, shape, stride=(shape[1], 1), assumed_align=4) for _ in range(2)]
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(_center, *tensors, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    out = torch.empty_like(x)
    _compiled()(x, out)
    return out


def get_inputs(shape=(4, 1000), device="cuda"):
    return [torch.randn(shape, device=device)]


def reference_fn(x):
    return x - x.sum(-1, keepdim=True) / x.shape[1]
