"""A kernel file that launches in every way that CuTe DSL offers without TVM FFI: called, compiled, on a stream."""

import cuda.bindings.driver as cuda
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(mA: cute.Tensor, mB: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 128 + thread
    if i < mA.shape[0]:
        mB[i] = mA[i] * 3.0


@cute.jit
def host(mA: cute.Tensor, mB: cute.Tensor):
    kernel(mA, mB).launch(grid=(cute.ceil_div(mA.shape[0], 128), 1, 1), block=(128, 1, 1))


@cute.jit
def host_on_stream(mA: cute.Tensor, mB: cute.Tensor, stream: cuda.CUstream):
    kernel(mA, mB).launch(grid=(cute.ceil_div(mA.shape[0], 128), 1, 1), block=(128, 1, 1), stream=stream)


def get_inputs(n=1000, device="cuda"):
    return [torch.randn(n, device=device)]


def reference_fn(x):
    return x * 3, x * 3, x * 3


def kernel_fn(x):
    called, compiled, streamed = (torch.empty_like(x) for _ in range(3))
    host(from_dlpack(x), from_dlpack(called))
    cute.compile(host, from_dlpack(x), from_dlpack(compiled))(from_dlpack(x), from_dlpack(compiled))
    stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
    launch = cute.compile(host_on_stream, from_dlpack(x), from_dlpack(streamed), stream)
    launch(from_dlpack(x), from_dlpack(streamed), stream)
    return called, compiled, streamed
