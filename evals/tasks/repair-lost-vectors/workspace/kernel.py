import cuda.bindings.driver as cuda
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import from_dlpack

ARCHS = ("sm_90a",)

THREADS, VALUES = 128, 8


@cute.kernel
def _kernel(mX: cute.Tensor, mY: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = (block * THREADS + thread) * VALUES
    if first < cute.size(mX):
        rX, rY = (cute.make_rmem_tensor((VALUES,), mX.element_type) for _ in range(2))
        cute.autovec_copy(cute.local_tile(mX, (VALUES,), (first // VALUES,)), rX)
        cute.autovec_copy(cute.local_tile(mY, (VALUES,), (first // VALUES,)), rY)
        rX.store((rX.load().to(Float32) * 2.5 + rY.load().to(Float32)).to(mX.element_type))
        cute.autovec_copy(rX, cute.local_tile(mC, (VALUES,), (first // VALUES,)))


@cute.jit
def _axpy(mX: cute.Tensor, mY: cute.Tensor, mC: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(cute.size(mX), THREADS * VALUES), 1, 1)
    _kernel(mX, mY, mC).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


_cache = {}


def kernel_fn(x, y):
    out = torch.empty_like(x)
    tensors = [from_dlpack(t).mark_layout_dynamic() for t in (x, y, out)]
    stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
    if x.dtype not in _cache:
        _cache[x.dtype] = cute.compile(_axpy, *tensors, stream)
    _cache[x.dtype](*tensors, stream)
    return out


def get_inputs(n=4096, device="cuda"):
    return [torch.randn(n, dtype=torch.bfloat16, device=device) for _ in range(2)]


def reference_fn(x, y):
    return (2.5 * x.float() + y.float()).to(x.dtype)
