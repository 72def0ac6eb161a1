"""A kernel file that launches in every way that CuTe DSL offers: called, compiled, on a stream, and by TVM FFI's bare
function with addresses for tensors.

The launch on a side stream, which the current one waits for, writes a workspace that is kept by the stream.
"""

import cuda.bindings.driver as cuda
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64
from cutlass.cute.runtime import from_dlpack

WORKSPACES = {}


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


@cute.jit
def host_by_address(a: Int64, b: Int64, n: Int32):
    pointers = (cute.make_ptr(Float32, x, cute.AddressSpace.gmem, assumed_align=4) for x in (a, b))
    mA, mB = (cute.make_tensor(pointer, cute.make_layout((n,))) for pointer in pointers)
    kernel(mA, mB).launch(grid=(cute.ceil_div(n, 128), 1, 1), block=(128, 1, 1))


def get_inputs(n=1000, device="cuda"):
    return [torch.randn(n, device=device)]


def reference_fn(x):
    return x * 3, x * 3, x * 3, x * 3


def kernel_fn(x):
    called, compiled, addressed = (torch.empty_like(x) for _ in range(3))
    current, side = torch.cuda.current_stream(), torch.cuda.Stream()
    streamed = WORKSPACES.setdefault((current, x.shape), torch.empty_like(x))
    host(from_dlpack(x), from_dlpack(called))
    cute.compile(host, from_dlpack(x), from_dlpack(compiled))(from_dlpack(x), from_dlpack(compiled))
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    side.wait_event(start)
    with torch.cuda.stream(side):
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        launch = cute.compile(host_on_stream, from_dlpack(x), from_dlpack(streamed), stream)
        launch(from_dlpack(x), from_dlpack(streamed), stream)
        x.record_stream(side)
        end.record(side)
    current.wait_stream(side)
    end.synchronize()
    assert start.elapsed_time(end) > 0
    assert WORKSPACES.keys() == {(torch.cuda.current_stream(), x.shape)}
    by_address = cute.compile(host_by_address, Int64(0), Int64(0), Int32(0), options="--enable-tvm-ffi")
    by_address._tvm_ffi_function(x.data_ptr(), addressed.data_ptr(), len(x))
    return called, compiled, streamed.clone(), addressed
