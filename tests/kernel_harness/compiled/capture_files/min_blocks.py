"""A launch with min_blocks_per_mp=2: the DSL asks the device for its shared memory while it compiles."""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor


def get_inputs(n=512, device="cuda"):
    return [torch.randn(n, device=device)]


def reference_fn(x):
    return x * 2


@cute.kernel
def double(a: cute.Tensor, b: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    if block * 128 + thread < a.shape[0]:
        b[block * 128 + thread] = a[block * 128 + thread] * 2.0


@cute.jit
def launch(a: cute.Tensor, b: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(a.shape[0], 128), 1, 1)
    double(a, b).launch(grid=grid, block=(128, 1, 1), min_blocks_per_mp=2, stream=stream)


@functools.cache
def compiled():
    n = cute.sym_int()
    tensors = [make_fake_tensor(cutlass.Float32, (n,), stride=(1,), assumed_align=4) for _ in range(2)]
    return cute.compile(launch, *tensors, make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")


def kernel_fn(x):
    out = torch.empty_like(x)
    compiled()(x, out)
    return out
