"""logsumexp of rows of any length, out[m] = log(sum(exp(x[m]))) in float32 (memory-bound): N is known at run time only.

Idea      A row that no CTA can hold is streamed: each thread keeps a maximum and a sum relative to it, and rescales the
          sum when the maximum grows. Few long rows are cut into parts, a CTA each, whose pairs a second kernel merges:
          a fixed order, so results repeat bit by bit. One compile serves every M and N of an alignment.
Layout    32 to 256 threads take neighbouring vectors of a part, four in flight each; pairs meet by shuffles, then in
          shared memory. The second kernel: a thread per row.
Requires  sm_80 or newer; float32, float16 or bfloat16; contiguous columns, any row stride. -inf is no term, NaN and
          +inf stay. No backward. For up to 262144 columns `templates/reduction.py` knows N when it compiles.
Verify    python scripts/verify_kernel.py examples/row_logsumexp.py
Measured  H200, 256 threads for every row: 2.0 times as fast as torch.compile at 512x262144, 5.0 at 4x33554432, 1.4 at
          8192x8192, and 0.10 at 65536x256 (results/h200-2026-11-22-66cfe61-kernels.json); short rows have had fewer
          since, which was simulated and not timed.
"""

import functools
import math

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int64
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

THREADS, UNROLL = 256, 4  # of a CTA at most; vectors of a thread in flight
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


class RowLogSumExp:
    """mP[:, m, p] = (maximum, sum) of part p of row m; mY[m] = their logsumexp. vector: elements an access."""

    def __init__(self, vector, threads):
        self.vector, self.threads = vector, threads

    @cute.jit
    def __call__(self, mX: cute.Tensor, mP: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        rows, parts = mX.shape[0], mP.shape[2]
        self.reduce_parts(mX, mP).launch(grid=(rows, parts, 1), block=(self.threads, 1, 1), stream=stream)
        self.merge_parts(mP, mY).launch(grid=(cute.ceil_div(rows, 128), 1, 1), block=(128, 1, 1), stream=stream)

    @cute.kernel
    def reduce_parts(self, mX: cute.Tensor, mP: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        row, part, _ = cute.arch.block_idx()
        _, parts, _ = cute.arch.grid_dim()
        sPair = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout((2, self.threads // 32)), 16)
        vectors = mX.shape[1] // self.vector
        width = (vectors + parts - 1) // parts
        first, last = part * width, cutlass.min((part + 1) * width, vectors)
        gX = mX[row, None].iterator
        rX = cute.make_rmem_tensor((self.vector, UNROLL), mX.element_type)  # (V, U)
        maximum, total = -Float32.inf, Float32(0.0)
        for vector in cutlass.range(first + thread, last, self.threads * UNROLL):
            rX.fill(-mX.element_type.inf)
            for u in cutlass.range_constexpr(UNROLL):
                if vector + u * self.threads < last:
                    at = gX + cute.assume(Int64(vector + u * self.threads) * self.vector, divby=self.vector)
                    cute.autovec_copy(cute.make_tensor(at, cute.make_layout(self.vector)), rX[None, u])
            x = rX.load().to(Float32)
            highest = cute.arch.fmax(maximum, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
            terms = cute.math.exp2((x - pivot(highest)) * LOG2_E, fastmath=True)
            total = rescale(total, maximum, highest) + terms.reduce(cute.ReductionOp.ADD, Float32(0.0), 0)
            maximum = highest
        highest = cute.arch.warp_reduction_max(maximum)
        total = cute.arch.warp_reduction_sum(rescale(total, maximum, highest))
        warp = cute.arch.warp_idx()
        if cute.arch.lane_idx() == 0:
            sPair[0, warp], sPair[1, warp] = highest, total
        cute.arch.barrier()
        if thread == 0:
            for w in cutlass.range_constexpr(1, self.threads // 32):
                to = cute.arch.fmax(highest, sPair[0, w])
                total = rescale(total, highest, to) + rescale(sPair[1, w], sPair[0, w], to)
                highest = to
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
            mY[row] = pivot(maximum) + cute.math.log2(total, fastmath=True) * LN_2


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, vector, threads):
    dtype, rows, columns, parts = DTYPES[dtype], cute.sym_int64(), cute.sym_int(divisibility=vector), cute.sym_int()
    stride, alignment = cute.sym_int64(divisibility=vector), vector * dtype.width // 8
    mX = make_fake_tensor(dtype, (rows, columns), stride=(stride, 1), assumed_align=alignment)
    mP = make_fake_tensor(Float32, (2, rows, parts), stride=(cute.sym_int64(), cute.sym_int64(), 1), assumed_align=4)
    mY = make_fake_tensor(Float32, (rows,), stride=(1,), assumed_align=4)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernels = RowLogSumExp(vector, threads)
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
        partials = x.new_empty((2, rows, parts), dtype=torch.float32)
        threads = max(32, min(1 << (columns // (vector * UNROLL)).bit_length(), THREADS))
        _launcher(x.dtype, vector, threads)(x, partials, out)
    return out
