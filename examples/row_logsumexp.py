"""logsumexp of rows of any length, out[m] = log(sum(exp(x[m]))) in float32 (memory-bound): N is known at run time only.

Idea      A row that no CTA can hold is streamed: each thread keeps a maximum and a sum relative to it, and rescales the
          sum when the maximum grows. Few long rows are cut into parts, whose pairs a second kernel merges: a fixed
          order, so results repeat bit by bit. A compile serves every M and N of an alignment and a class of lengths.
Layout    8 to 256 threads take neighbouring vectors of a part, up to four in flight each; pairs meet by shuffles, then
          in shared memory. Parts of less than 128 threads share a CTA. The second kernel: a thread per row.
Requires  sm_80 or newer; float32, float16 or bfloat16; contiguous columns, any row stride. -inf is no term, NaN and
          +inf stay. No backward. For up to 262144 columns `templates/reduction.py` knows N when it compiles.
Verify    python scripts/verify_kernel.py examples/row_logsumexp.py
Measured  H200: 1.27 to 5.06 times as fast as torch.compile
          (results/h200-2026-11-22-1cc80f0-kernels.json)
"""

import functools
import math

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int64, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {
    **{f"{m}x{n}": {"shape": (m, n)} for m, n in ((0, 8), (1, 1), (3, 1000), (7, 333), (2, 20_008), (1, 1_000_003))},
    "masked": {"shape": (5, 1032), "masked": True},
    "large": {"shape": (3, 520), "scale": 1000.0},
    "fp16": {"shape": (3, 264), "dtype": torch.float16},
    "fp32": {"shape": (3, 1028), "dtype": torch.float32},
}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((8192, 8192), (512, 1 << 18), (4, 1 << 25), (65536, 256))}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">=4", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, scale=1.0, masked=False, device="cuda"):
    """[x (M, N)], normally distributed; masked: the first row is -inf, a third of the others, too."""
    x = torch.randn(shape, dtype=dtype, device=device) * scale
    if masked:
        x[torch.rand(shape, device=device) < 1 / 3] = -torch.inf
        x[0] = -torch.inf
    return [x]


def reference_fn(x):
    return torch.logsumexp(x.to(torch.promote_types(x.dtype, torch.float32)), dim=1)


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS, UNROLL = 256, 4  # of a part at most; vectors of a thread in flight, at most
CTAS = 1024  # that fill a GPU, about
PART = THREADS * UNROLL * 4  # vectors that are worth a CTA
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}
LOG2_E, LN_2 = math.log2(math.e), math.log(2.0)

# --- Device ----------------------------------------------------------------------------------------------------------


@cute.jit
def pivot(maximum: Float32) -> Float32:
    """What exponents are taken relative to: an infinite maximum would make NaN of inf - inf."""
    return maximum if abs(maximum) < Float32.inf else Float32(0.0)


@cute.jit
def rescale(total: Float32, maximum: Float32, to: Float32) -> Float32:
    """A sum of exponentials relative to pivot(maximum), relative to pivot(to); 0 for maximum = -inf."""
    base = pivot(maximum) if maximum > -Float32.inf else maximum
    return total * cute.math.exp2((base - pivot(to)) * LOG2_E, fastmath=True)


@cute.jit
def logsumexp(maximum: Float32, total: Float32) -> Float32:
    return pivot(maximum) + cute.math.log2(total, fastmath=True) * LN_2


class RowLogSumExp:
    """mY[m] = logsumexp(mX[m]); mP[:, m, p] = (maximum, sum) of part p of row m, None where a row is one part.

    vector: elements an access; threads: on a part; unroll: vectors of a thread in flight.
    """

    def __init__(self, vector, threads, unroll):
        self.vector, self.threads, self.unroll, self.rows = vector, threads, unroll, max(1, 128 // threads)

    @cute.jit
    def __call__(self, mX: cute.Tensor, mP, mY: cute.Tensor, stream: cuda.CUstream):
        rows, parts = mX.shape[0], 1 if const_expr(mP is None) else mP.shape[2]
        grid, block = (cute.ceil_div(rows, self.rows), parts, 1), (self.threads * self.rows, 1, 1)
        self.reduce_parts(mX, mP, mY).launch(grid=grid, block=block, stream=stream)
        if const_expr(mP is not None):
            self.merge_parts(mP, mY).launch(grid=(cute.ceil_div(rows, 128), 1, 1), block=(128, 1, 1), stream=stream)

    @cute.kernel
    def reduce_parts(self, mX: cute.Tensor, mP, mY: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, part, _ = cute.arch.block_idx()
        _, parts, _ = cute.arch.grid_dim()
        warps, lanes = const_expr(max(1, self.threads // 32)), const_expr(min(self.threads, 32))  # of a part; of a warp
        sPair = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout((2, warps * self.rows)), 16)
        row, thread = Int64(block) * self.rows + thread // self.threads, thread % self.threads
        vectors = mX.shape[1] // self.vector
        width = (vectors + parts - 1) // parts
        first, last = part * width, cutlass.min((part + 1) * width, vectors)
        if row >= mX.shape[0]:
            last = first
        gX = mX[row, None].iterator
        rX = cute.make_rmem_tensor((self.vector, self.unroll), mX.element_type)  # (V, U)
        maximum, total = -Float32.inf, Float32(0.0)
        for vector in cutlass.range(first + thread, last, self.threads * self.unroll):
            rX.fill(-mX.element_type.inf)
            for u in cutlass.range_constexpr(self.unroll):
                if vector + u * self.threads < last:
                    at = gX + cute.assume(Int64(vector + u * self.threads) * self.vector, divby=self.vector)
                    cute.autovec_copy(cute.make_tensor(at, cute.make_layout(self.vector)), rX[None, u])
            x = rX.load().to(Float32)
            highest = cute.arch.fmax(maximum, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
            terms = cute.math.exp2((x - pivot(highest)) * LOG2_E, fastmath=True)
            total = rescale(total, maximum, highest) + terms.reduce(cute.ReductionOp.ADD, Float32(0.0), 0)
            maximum = highest
        highest = cute.arch.warp_reduction_max(maximum, threads_in_group=lanes)
        total = cute.arch.warp_reduction_sum(rescale(total, maximum, highest), threads_in_group=lanes)
        warp = cute.arch.warp_idx()
        if const_expr(warps > 1):
            if cute.arch.lane_idx() == 0:
                sPair[0, warp], sPair[1, warp] = highest, total
            cute.arch.barrier()
        if thread == 0 and row < mX.shape[0]:
            for w in cutlass.range_constexpr(1, warps):
                to = cute.arch.fmax(highest, sPair[0, warp + w])
                total = rescale(total, highest, to) + rescale(sPair[1, warp + w], sPair[0, warp + w], to)
                highest = to
            if const_expr(mP is None):
                mY[row] = logsumexp(highest, total)
            else:
                mP[0, row, part], mP[1, row, part] = highest, total

    @cute.kernel
    def merge_parts(self, mP: cute.Tensor, mY: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        row = Int64(block) * 128 + thread
        if row < mY.shape[0]:
            maximum, total = -Float32.inf, Float32(0.0)
            for part in cutlass.range(mP.shape[2], unroll=8):
                highest = cute.arch.fmax(maximum, mP[0, row, part])
                total = rescale(total, maximum, highest) + rescale(mP[1, row, part], mP[0, row, part], highest)
                maximum = highest
            mY[row] = logsumexp(maximum, total)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, vector, threads, unroll, is_split):
    dtype, rows, columns, parts = DTYPES[dtype], cute.sym_int64(), cute.sym_int(divisibility=vector), cute.sym_int()
    stride, alignment = cute.sym_int64(divisibility=vector), vector * dtype.width // 8
    mX = make_fake_tensor(dtype, (rows, columns), stride=(stride, 1), assumed_align=alignment)
    strides = (cute.sym_int64(), cute.sym_int64(), 1)
    mP = make_fake_tensor(Float32, (2, rows, parts), stride=strides, assumed_align=4) if is_split else None
    mY = make_fake_tensor(Float32, (rows,), stride=(1,), assumed_align=4)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernels = RowLogSumExp(vector, threads, unroll)
    return cute.compile(kernels, mX, mP, mY, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    """logsumexp(x, 1) as float32 (M,); x (M, N) float32, float16 or bfloat16 on a CUDA device; ValueError for other."""
    if x.ndim != 2 or x.dtype not in DTYPES or not x.is_cuda or not 1 <= x.shape[1] <= 1 << 30 or x.shape[0] >> 31:
        raise ValueError("x must be a float32, float16 or bfloat16 matrix on a CUDA device, below 2^31 rows and 1 to "
                         f"2^30 columns; got {x.dtype} of shape {tuple(x.shape)} on {x.device}")
    if x.stride(1) != 1 < x.shape[1] or (x.requires_grad and torch.is_grad_enabled()):
        raise ValueError("x must have contiguous columns and need no gradient: pass x.detach().contiguous(); "
                         f"got strides {x.stride()} and requires_grad={x.requires_grad}")
    (rows, columns), size = x.shape, x.itemsize
    out = x.new_empty(rows, dtype=torch.float32)
    if rows:
        bits = 16 | x.data_ptr() | x.stride(0) * size | columns * size
        vector = (bits & -bits) // size
        parts = max(1, min(-(-columns // (PART * vector)), -(-CTAS // rows)))
        partials = x.new_empty((2, rows, parts), dtype=torch.float32) if parts > 1 else None
        vectors = columns // vector
        threads = max(8, min(1 << ((vectors - 1) // UNROLL).bit_length(), THREADS))
        _launcher(x.dtype, vector, threads, min(UNROLL, -(-vectors // threads)), parts > 1)(x, partials, out)
    return out
