"""SwiGLU of the two halves of each row, out[m, n] = silu(x[m, n]) * x[m, N + n] (memory-bound).

Idea      What a fused gate-and-up projection leaves behind: one pass reads both halves in 128-bit vectors and writes
          half as much. The output's vectors are numbered through, whatever the row length, so short rows fill their
          CTAs too; the row of a vector comes from a multiplication (cute.FastDivmodDivisorV2), not a division.
Layout    Thread t of CTA b owns vector b * THREADS + t of the output; a warp's access is contiguous within a row.
Requires  sm_80 or newer; float32, float16 or bfloat16; contiguous columns, any row stride; less than 2^31 vectors. Rows
          of an odd N leave 2-byte accesses: pad them where that matters. No backward. Bad input: ValueError.
Verify    python scripts/verify_kernel.py examples/swiglu.py
Measured  H200: 158 us for 8192 x 14336, a tenth of eager PyTorch's time in float32
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

SHAPES = ((0, 8), (3, 0), (1, 1), (5, 7), (33, 24), (300, 128), (7, 1028))
TEST_CASES = {
    **{f"{m}x{n}": {"shape": (m, n)} for m, n in SHAPES},
    "strided": {"shape": (20, 136), "pad": 8},
    "misaligned": {"shape": (20, 136), "pad": 3},
    "fp16": {"shape": (20, 136), "dtype": torch.float16},
    "fp32": {"shape": (20, 132), "dtype": torch.float32},
}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((1, 14336), (128, 14336), (8192, 14336), (65536, 768))}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": 2, "STG.128": 1, "registers": "<=64", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, pad=0, device="cuda"):
    """[x (M, 2 N)] for the shape (M, N) of the output, a part of rows of 2 N + pad elements."""
    return [torch.randn(shape[0], 2 * shape[1] + pad, dtype=dtype, device=device)[:, pad:]]


def reference_fn(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    gate, up = wide.chunk(2, dim=1) if x.shape[1] else (wide, wide)
    return (torch.nn.functional.silu(gate) * up).to(x.dtype)


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 128
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class SwiGLU:
    """mY (M, N) of mX (M, 2 N). vector: elements per access, which divides N."""

    def __init__(self, vector):
        self.vector = vector

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        vectors = mY.shape[1] // self.vector  # of a row
        grid = (cute.ceil_div(mY.shape[0] * vectors, THREADS), 1, 1)
        self.kernel(mX, mY, cute.FastDivmodDivisorV2(vectors)).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor, vectors: cute.FastDivmodDivisorV2):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        row, vector = divmod(block * THREADS + thread, vectors)
        if row < mY.shape[0]:
            gate = self.load(mX, row, vector * self.vector)
            up = self.load(mX, row, mY.shape[1] + vector * self.vector)
            rY = cute.make_rmem_tensor(self.vector, mY.element_type)  # (V)
            sigmoid = cute.math.rcp(1.0 + cute.math.exp(-gate), approx=True, ftz=True)
            rY.store((gate * sigmoid * up).to(mY.element_type))  # EDIT: the operation
            cute.autovec_copy(rY, self.view(mY, row, vector * self.vector))

    def view(self, mT, row, column):
        pointer = mT[row, None].iterator + cute.assume(column, divby=self.vector)
        return cute.make_tensor(pointer, cute.make_layout(self.vector))  # (V)

    def load(self, mT, row, column):
        rT = cute.make_rmem_tensor(self.vector, mT.element_type)  # (V)
        cute.autovec_copy(self.view(mT, row, column), rT)
        return rT.load().to(Float32)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, vector):
    dtype, rows, alignment = DTYPES[dtype], cute.sym_int(), vector * DTYPES[dtype].width // 8

    def matrix(columns):
        stride = (cute.sym_int64(divisibility=vector), 1)
        return make_fake_tensor(dtype, (rows, columns), stride=stride, assumed_align=alignment)

    mX, mY = matrix(cute.sym_int(divisibility=2 * vector)), matrix(cute.sym_int(divisibility=vector))
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(SwiGLU(vector), mX, mY, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    """silu(x[:, :N]) * x[:, N:] as a new contiguous (M, N) tensor of x's dtype; ValueError for what it cannot take.

    x (M, 2 N): float32, float16 or bfloat16 on a CUDA device, contiguous columns.
    """
    if x.ndim != 2 or x.dtype not in DTYPES or not x.is_cuda or x.shape[1] % 2:
        raise ValueError("x must be a float32, float16 or bfloat16 matrix with an even number of columns on a CUDA "
                         f"device; got {x.dtype} of shape {tuple(x.shape)} on {x.device}")
    if x.stride(1) != 1 < x.shape[1] or (x.requires_grad and torch.is_grad_enabled()):
        raise ValueError("x must have contiguous columns and need no gradient; "
                         f"got strides {x.stride()} and requires_grad={x.requires_grad}")
    rows, columns, size = x.shape[0], x.shape[1] // 2, x.itemsize
    out = x.new_empty((rows, columns))
    if out.numel():
        bits = 16 | x.data_ptr() | x.stride(0) * size | columns * size
        vector = (bits & -bits) // size
        if out.numel() // vector >= 2**31 - THREADS:
            raise ValueError(f"{out.numel() // vector} vectors of {vector} elements are more than 2^31: split the rows")
        _launcher(x.dtype, vector)(x, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
