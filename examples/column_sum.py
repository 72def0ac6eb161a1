"""Sum of each column, out[n] = sum(x[:, n]) in float32 (memory-bound): two stages, for want of rows to reduce along.

Idea      Stage 1 cuts the rows into as many strips as fill the GPU; a CTA sums its strip of a few columns in registers
          and leaves a float32 partial. Stage 2 adds the partials; where one strip does, stage 1 writes the result. All
          in a fixed order, so results repeat bit by bit, which atomic additions would not. Loads come in rounds
          without a condition, as one between them makes each wait for the one before.
Layout    Stage 1: a CTA owns 32 vectors of neighbouring columns, or fewer where there are fewer; its groups of lanes
          take rows in turn, four in flight each, and meet in shared memory. Stage 2: a warp takes every 16th partial.
Requires  sm_80 or newer; float32, float16 or bfloat16; contiguous columns, any row stride. No backward.
Verify    python scripts/verify_kernel.py examples/column_sum.py
Measured  H200: 35.2 us for 8192 x 8192 and 37.7 us for 1048576 x 64 (1.07 and 0.98 of torch.compile's speed)
          (results/h200-2026-11-24-b80c2d5-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int64, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

SHAPES = ((0, 8), (1, 1), (5, 1000), (1000, 7), (3000, 64), (4097, 333), (70001, 8))
TEST_CASES = {
    **{f"{m}x{n}": {"shape": (m, n)} for m, n in SHAPES},
    "fp16": {"shape": (1000, 264), "dtype": torch.float16},
    "fp32": {"shape": (1000, 264), "dtype": torch.float32},
}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((8192, 8192), (65536, 1024), (1048576, 64), (128, 131072))}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">=4", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, device="cuda"):
    """[x (M, N)], normally distributed."""
    return [torch.randn(shape, dtype=dtype, device=device)]


def reference_fn(x):
    return torch.sum(x, dim=0, dtype=torch.promote_types(x.dtype, torch.float32))


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 256  # of a CTA that sums a strip
UNROLL = 4  # rows of a thread in flight
CTAS = 528  # that fill a GPU, about
ENOUGH = 256  # CTAs that keep its memory busy: with as many blocks of columns there is but one strip, and one launch
FEW = 4  # rounds of loads that take less time than a second launch
FINAL_WARPS, FINAL_UNROLL = 16, 8  # of a CTA that adds partials: a warp takes every 16th, eight in flight
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class ColumnSum:
    """mP[s, :] = sum of strip s of mX, mY = sum(mP); one strip needs no mP. vector: of an access; it divides N.

    lanes: of a warp, that lie along a row; the others take more rows where columns are few. A power of two.
    """

    def __init__(self, vector, lanes, has_strips):
        self.vector, self.lanes, self.has_strips = vector, lanes, has_strips
        self.groups = THREADS // lanes  # each takes a row

    @cute.jit
    def __call__(self, mX: cute.Tensor, mP: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        columns, strips = mX.shape[1], mP.shape[0]
        grid = (cute.ceil_div(columns, self.lanes * self.vector), strips, 1)
        self.sum_strips(mX, mP).launch(grid=grid, block=(self.lanes, self.groups, 1), stream=stream)
        if const_expr(self.has_strips):
            grid = (cute.ceil_div(columns, 32), 1, 1)
            self.sum_partials(mP, mY).launch(grid=grid, block=(32, FINAL_WARPS, 1), stream=stream)

    @cute.kernel
    def sum_strips(self, mX: cute.Tensor, mP: cute.Tensor):
        lane, group, _ = cute.arch.thread_idx()
        block, strip, _ = cute.arch.block_idx()
        _, strips, _ = cute.arch.grid_dim()
        groups = self.groups
        smem = cutlass.memory.SmemAllocator()
        sS = smem.allocate_tensor(Float32, cute.make_layout((self.vector, self.lanes + 1, groups)), 16)  # (V, L, G)
        rows = cute.size(mX, mode=[0])
        height = (rows + strips - 1) // strips
        first, last = Int64(strip) * height, cutlass.min(Int64(strip + 1) * height, Int64(rows))
        column = cute.assume((block * self.lanes + lane) * self.vector, divby=self.vector)
        rS = cute.make_rmem_tensor(self.vector, Float32)  # (V)
        rS.fill(0.0)
        if column < mX.shape[1]:
            rX = cute.make_rmem_tensor((self.vector, UNROLL), mX.element_type)  # (V, U)
            mine = first + group
            whole = cutlass.max(last - mine + groups - 1, 0) // (groups * UNROLL)  # rounds without a condition
            for r in cutlass.range(whole):
                for u in cutlass.range_constexpr(UNROLL):
                    cute.autovec_copy(self.view(mX, mine + (r * UNROLL + u) * groups, column), rX[None, u])
                for u in cutlass.range_constexpr(UNROLL):
                    rS.store(rS.load() + rX[None, u].load().to(Float32))
            for row in cutlass.range(mine + whole * UNROLL * groups, last, groups):
                cute.autovec_copy(self.view(mX, row, column), rX[None, 0])
                rS.store(rS.load() + rX[None, 0].load().to(Float32))
        cute.autovec_copy(rS, sS[None, lane, group])
        step = groups
        while const_expr(step > 1):  # a tree, whose order is fixed
            step //= 2
            cute.arch.barrier()
            if group < step:
                rS.store(sS[None, lane, group].load() + sS[None, lane, group + step].load())
                cute.autovec_copy(rS, sS[None, lane, group])
        if (group == 0) & (column < mX.shape[1]):
            for v in cutlass.range_constexpr(self.vector):
                mP[strip, column + v] = rS[v]

    def view(self, mX, row, column):
        return cute.make_tensor(mX[row, None].iterator + column, cute.make_layout(self.vector))  # (V)

    @cute.kernel
    def sum_partials(self, mP: cute.Tensor, mY: cute.Tensor):
        lane, warp, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        column = block * 32 + lane
        smem = cutlass.memory.SmemAllocator()
        sS = smem.allocate_tensor(Float32, cute.make_layout((32, FINAL_WARPS)), 16)  # (lane, warp)
        total, strips = Float32(0.0), mP.shape[0]
        if column < mY.shape[0]:
            rP = cute.make_rmem_tensor(FINAL_UNROLL, Float32)
            whole = cutlass.max(strips - warp + FINAL_WARPS - 1, 0) // (FINAL_WARPS * FINAL_UNROLL)
            for r in cutlass.range(whole):
                for u in cutlass.range_constexpr(FINAL_UNROLL):
                    rP[u] = mP[warp + (r * FINAL_UNROLL + u) * FINAL_WARPS, column]
                for u in cutlass.range_constexpr(FINAL_UNROLL):
                    total += rP[u]
            for strip in cutlass.range(warp + whole * FINAL_UNROLL * FINAL_WARPS, strips, FINAL_WARPS):
                total += mP[strip, column]
        sS[lane, warp] = total
        cute.arch.barrier()
        if (warp == 0) & (column < mY.shape[0]):
            for w in cutlass.range_constexpr(1, FINAL_WARPS):
                total += sS[lane, w]
            mY[column] = total


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, vector, lanes, has_strips):
    dtype, rows, columns, strips = DTYPES[dtype], cute.sym_int64(), cute.sym_int(divisibility=vector), cute.sym_int()
    stride, alignment = cute.sym_int64(divisibility=vector), vector * dtype.width // 8
    mX = make_fake_tensor(dtype, (rows, columns), stride=(stride, 1), assumed_align=alignment)
    mP = make_fake_tensor(Float32, (strips, columns), stride=(cute.sym_int64(), 1), assumed_align=4)
    mY = make_fake_tensor(Float32, (columns,), stride=(1,), assumed_align=4)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernel = ColumnSum(vector, lanes, has_strips)
    return cute.compile(kernel, mX, mP, mY, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    """sum(x, 0) as float32 (N,); x (M, N) float32, float16 or bfloat16 on a CUDA device; ValueError for other input."""
    if x.ndim != 2 or x.dtype not in DTYPES or not x.is_cuda or not 1 <= x.shape[1] <= 1 << 24 or x.shape[0] >> 31:
        raise ValueError("x must be a float32, float16 or bfloat16 matrix on a CUDA device, below 2^31 rows and 1 to "
                         f"2^24 columns; got {x.dtype} of shape {tuple(x.shape)} on {x.device}")
    if x.stride(1) != 1 < x.shape[1] or (x.requires_grad and torch.is_grad_enabled()):
        raise ValueError("x must have contiguous columns and need no gradient: pass x.detach().contiguous(); "
                         f"got strides {x.stride()} and requires_grad={x.requires_grad}")
    (rows, columns), size = x.shape, x.itemsize
    if rows == 0:
        return x.new_zeros(columns, dtype=torch.float32)
    bits = 16 | x.data_ptr() | x.stride(0) * size | columns * size
    vector = (bits & -bits) // size
    lanes = min(32, 1 << (columns // vector - 1).bit_length())
    blocks, height = -(-columns // (lanes * vector)), THREADS // lanes * UNROLL  # rows that a CTA takes at once
    strips = 1 if blocks >= ENOUGH or rows <= FEW * height else max(1, min(-(-rows // height), CTAS // blocks))
    out = x.new_empty(columns, dtype=torch.float32)
    partials = out[None] if strips == 1 else x.new_empty((strips, columns), dtype=torch.float32)
    _launcher(x.dtype, vector, lanes, strips > 1)(x, partials, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
