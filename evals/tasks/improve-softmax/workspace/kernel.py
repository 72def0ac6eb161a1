"""Row softmax, one thread per row."""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((5, 64), (130, 1024), (3, 8192))}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((16384, 4096), (4096, 32768), (2048, 131072), (32768, 256))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"LDG.16": ">0", "spill_bytes": 0}}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, device="cuda"):
    """[x (M, N)], normally distributed."""
    return [torch.randn(shape, dtype=dtype, device=device)]


def reference_fn(x):
    return torch.softmax(x, dim=-1)


# --- Device ----------------------------------------------------------------------------------------------------------

LOG2E = 1.4426950408889634
LOWEST = -3.4028234663852886e38  # the maximum of nothing; finite, because -inf - -inf is NaN


@cute.kernel
def _kernel(mX: cute.Tensor, mY: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row = block * 128 + thread
    if row < mX.shape[0]:
        maximum, total = Float32(LOWEST), Float32(0.0)
        for n in cutlass.range(mX.shape[1]):
            maximum = cute.arch.fmax(maximum, mX[row, n].to(Float32))
        for n in cutlass.range(mX.shape[1]):
            total += cute.math.exp2((mX[row, n].to(Float32) - maximum) * LOG2E, fastmath=True)
        for n in cutlass.range(mX.shape[1]):
            e = cute.math.exp2((mX[row, n].to(Float32) - maximum) * LOG2E, fastmath=True)
            mY[row, n] = (e / total).to(mY.element_type)


@cute.jit
def softmax(mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
    _kernel(mX, mY).launch(grid=(cute.ceil_div(mX.shape[0], 128), 1, 1), block=(128, 1, 1), stream=stream)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(columns):
    rows = cute.sym_int()
    mX = make_fake_tensor(cutlass.BFloat16, (rows, columns), stride=(columns, 1), assumed_align=16)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(softmax, mX, mX, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    """softmax(x, -1), new; x (M, N) contiguous bfloat16 on a CUDA device, N a multiple of 1; else ValueError."""
    if x.ndim != 2 or x.dtype != torch.bfloat16 or not x.is_cuda or not x.is_contiguous() or x.shape[1] % 1:
        raise ValueError(f"x must be a contiguous bfloat16 matrix on a CUDA device with a multiple of 1 columns; "
                         f"got {x.dtype} of shape {tuple(x.shape)} with strides {x.stride()} on {x.device}")
    out = torch.empty_like(x)
    if x.numel():
        _launcher(x.shape[1])(x, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
