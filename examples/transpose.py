"""Transpose of a matrix, out = x.T contiguous (memory-bound): 128-bit accesses on both sides, in memory and shared.

Idea      A thread turns a square of E x E elements in its registers, E to a 16-byte vector; the squares of a tile are
          exchanged through shared memory whole vectors at a time. Elements are moved as integers of their size.
Layout    A CTA of 64 threads owns a tile of 8 x 8 squares, so that 8 lanes read or write 128 contiguous bytes. The
          tile of shared memory has 128-byte rows; a swizzle puts vector v of the rows of square s at v ^ s: 8 lanes
          write the same v of 8 squares, or read the 8 vectors of a row, and use all 32 banks once either way.
Requires  sm_80 or newer; elements of 1, 2, 4 or 8 bytes; contiguous columns, any row stride; less than 2^31 rows and
          columns. Where the rows of the result start off 16 bytes (M is odd, say) another kernel moves elements one by
          one. No backward (it is the same kernel). Bad input: ValueError before any launch.
Measured  H200: 286 us for 16384 x 16384 (6.0 times as fast as eager, 1.08 of torch.compile), 129 us for 8191 x 8193,
          where torch.compile takes 102 (results/h200-2026-11-24-9b595cf-kernels.json)
Verify    python scripts/verify_kernel.py examples/transpose.py
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

SHAPES = ((0, 8), (1, 1), (64, 64), (72, 200), (127, 136), (136, 127), (65, 67))
TEST_CASES = {
    **{f"{m}x{n}": {"shape": (m, n)} for m, n in SHAPES},
    "strided": {"shape": (72, 200), "pad": 8},
    "misaligned": {"shape": (72, 200), "pad": 3},
    "fp32": {"shape": (36, 68), "dtype": torch.float32},
    "fp32 odd": {"shape": (33, 35), "dtype": torch.float32},
    "int8": {"shape": (144, 272), "dtype": torch.int8},
    "fp64": {"shape": (18, 34), "dtype": torch.float64},
}
BENCH_CASES = {
    **{f"{n}x{n}": {"shape": (n, n)} for n in (1024, 4096, 16384)},
    **{f"{m}x{n}": {"shape": (m, n)} for m, n in ((65536, 1024), (8191, 8193))},
    "fp32 8192x8192": {"shape": (8192, 8192), "dtype": torch.float32},
}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": 8, "STG.128": 8, "LDS.128": 8, "STS.128": 8, "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, pad=0, device="cuda"):
    """[x (M, N)], a part of rows of N + pad elements."""
    rows = (shape[0], shape[1] + pad)
    if dtype.is_floating_point:
        return [torch.randn(rows, dtype=dtype, device=device)[:, pad:]]
    return [torch.randint(-128, 128, rows, dtype=dtype, device=device)[:, pad:]]


def reference_fn(x):
    return x.T.contiguous()


# --- Configuration ---------------------------------------------------------------------------------------------------

SIDE = 8  # squares of a tile along each side: 8 lanes access 128 bytes
NARROW_TILE, NARROW_WARPS = 64, 8  # of the kernel for rows that do not start at vectors
INTEGERS = {
    1: (torch.int8, cutlass.Int8, 0),
    2: (torch.int16, cutlass.Int16, 1),
    4: (torch.int32, cutlass.Int32, 2),
    8: (torch.int64, cutlass.Int64, 3),
}  # by size: for the caller, for the kernel, log2

# --- Device ----------------------------------------------------------------------------------------------------------


class Transpose:
    """mY[n, m] = mX[m, n]. log2_size: of an element, in bytes."""

    def __init__(self, log2_size):
        self.edge = 16 >> log2_size  # elements along a square: a vector
        self.tile = SIDE * self.edge
        self.log2_edge = 4 - log2_size

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        grid = (cute.ceil_div(mX.shape[1], self.tile) * cute.ceil_div(mX.shape[0], self.tile), 1, 1)
        self.kernel(mX, mY).launch(grid=grid, block=(SIDE * SIDE, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        tiles = cute.ceil_div(mX.shape[1], self.tile)
        row, column = block // tiles * self.tile, block % tiles * self.tile  # of the tile in mX
        edge, major, minor = self.edge, thread // SIDE, thread % SIDE

        square = cute.make_layout((edge, edge), stride=(1, edge))  # (element of a vector, vector)
        rX, rY = (cute.make_rmem_tensor(square, mX.element_type) for _ in range(2))
        is_full = (row + self.tile <= mX.shape[0]) & (column + self.tile <= mX.shape[1])
        self.copy(mX, row + major * edge, 1, column + minor * edge, rX, is_full, to_memory=False)
        for i in cutlass.range_constexpr(edge):
            for j in cutlass.range_constexpr(edge):
                rY[i, j] = rX[j, i]

        smem = cutlass.memory.SmemAllocator()
        rows = cute.make_layout((edge, SIDE, self.tile), stride=(1, edge, SIDE * edge))  # (element, vector, row of mY)
        # Of an address in bytes: the three bits of r / edge are added to the three of the vector, from bit 4 on.
        swizzle = cute.make_swizzle(3, 4, 3 + self.log2_edge)
        sY = smem.allocate_tensor(mX.element_type, rows, 128, swizzle=swizzle)
        for j in cutlass.range_constexpr(edge):
            cute.autovec_copy(rY[None, j], sY[None, major, minor * edge + j])
        cute.arch.barrier()
        for i in cutlass.range_constexpr(edge):
            r = i * SIDE + major  # neighbouring threads write neighbouring vectors
            cute.autovec_copy(sY[None, minor, r], rX[None, i])
        self.copy(mY, column + major, SIDE, row + minor * edge, rX, is_full, to_memory=True)

    @cute.jit
    def copy(self, mT, row, step, column, rT, is_full, to_memory):
        """Copy mT[row + i * step, column + e], as far as it exists, to or from a fragment rT (e, i)."""
        column = cute.assume(column, divby=self.edge)
        vectors = [
            cute.make_tensor(mT[row + i * step, None].iterator + column, cute.make_layout(self.edge))
            for i in range(self.edge)
        ]
        if is_full:
            for i in cutlass.range_constexpr(self.edge):
                cute.autovec_copy(*((rT[None, i], vectors[i]) if to_memory else (vectors[i], rT[None, i])))
        else:
            if const_expr(not to_memory):
                rT.fill(0)
            for i in cutlass.range_constexpr(self.edge):
                for e in cutlass.range_constexpr(self.edge):
                    if (row + i * step < mT.shape[0]) & (column + e < mT.shape[1]):
                        if const_expr(to_memory):
                            vectors[i][e] = rT[e, i]
                        else:
                            rT[e, i] = vectors[i][e]


class NarrowTranspose:
    """mY[n, m] = mX[m, n] an element at a time, for rows that start off vectors. size: of an element, in bytes."""

    def __init__(self, size):
        self.pitch = NARROW_TILE + max(1, 4 // size)  # an odd number of words: a column lies in 32 banks

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        grid = (cute.ceil_div(mX.shape[1], NARROW_TILE) * cute.ceil_div(mX.shape[0], NARROW_TILE), 1, 1)
        self.kernel(mX, mY).launch(grid=grid, block=(32, NARROW_WARPS, 1), stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor):
        lane, warp, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        tiles = cute.ceil_div(mX.shape[1], NARROW_TILE)
        row, column = block // tiles * NARROW_TILE, block % tiles * NARROW_TILE  # of the tile in mX
        smem = cutlass.memory.SmemAllocator()
        layout = cute.make_layout((NARROW_TILE, NARROW_TILE), stride=(self.pitch, 1))
        sX = smem.allocate_tensor(mX.element_type, layout, 16)  # (row, column)
        across = range(0, NARROW_TILE, 32)
        rX = cute.make_rmem_tensor((len(across), NARROW_TILE // NARROW_WARPS), mX.element_type)
        for i in cutlass.range_constexpr(NARROW_TILE // NARROW_WARPS):
            for j, start in enumerate(across):
                r, c = row + i * NARROW_WARPS + warp, column + start + lane
                if (r < mX.shape[0]) & (c < mX.shape[1]):
                    rX[j, i] = mX[r, c]
        for i in cutlass.range_constexpr(NARROW_TILE // NARROW_WARPS):
            for j, start in enumerate(across):
                sX[i * NARROW_WARPS + warp, start + lane] = rX[j, i]
        cute.arch.barrier()
        for i in cutlass.range_constexpr(NARROW_TILE // NARROW_WARPS):
            for start in across:
                r, c = start + lane, i * NARROW_WARPS + warp
                if (row + r < mX.shape[0]) & (column + c < mX.shape[1]):
                    mY[column + c, row + r] = sX[r, c]


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(size, x_alignment, y_alignment):
    """launch(x, y) on matrices of integers of `size` bytes; the alignments of their rows are in bytes."""
    _, dtype, log2_size = INTEGERS[size]
    rows, columns = cute.sym_int(), cute.sym_int()

    def matrix(shape, alignment):
        stride = (cute.sym_int64(divisibility=alignment // size), 1)
        return make_fake_tensor(dtype, shape, stride=stride, assumed_align=alignment)

    mX, mY = matrix((rows, columns), x_alignment), matrix((columns, rows), y_alignment)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernel = NarrowTranspose(size) if y_alignment < 16 else Transpose(log2_size)
    return cute.compile(kernel, mX, mY, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    """x.T as a new contiguous (N, M) tensor; x (M, N) on a CUDA device; ValueError for what it cannot take."""
    if x.ndim != 2 or x.itemsize not in INTEGERS or not x.is_cuda or max(x.shape) >> 31:
        raise ValueError("x must be a matrix of elements of 1, 2, 4 or 8 bytes on a CUDA device, of less than 2^31 "
                         f"rows and columns; got {x.dtype} of shape {tuple(x.shape)} on {x.device}")
    if x.stride(1) != 1 < x.shape[1] or (x.requires_grad and torch.is_grad_enabled()):
        raise ValueError("x must have contiguous columns and need no gradient; "
                         f"got strides {x.stride()} and requires_grad={x.requires_grad}")
    (rows, columns), size = x.shape, x.itemsize
    out = x.new_empty((columns, rows))
    if out.numel():
        integer, (x_bits, y_bits) = INTEGERS[size][0], (16 | x.data_ptr() | x.stride(0) * size, 16 | rows * size)
        launch = _launcher(size, x_bits & -x_bits, y_bits & -y_bits)
        launch(x.view(integer), out.view(integer))
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=0, atol=0)
    print("PASS")
