"""Mean of each segment of rows, out[s] = mean(x[offsets[s] : offsets[s + 1]], 0), 0 where it is empty (memory-bound).

Idea      The rows lie on one line, and each of `parts` takes an equal stretch of it, however long the segments are; a
          thread sums one vector of columns of a stretch, eight rows in flight, without any exchange. Segments that lie
          within a stretch are stored at once; one that goes on leaves a float32 piece in each of its stretches, and a
          second kernel adds those in a fixed order, so results repeat bit by bit. Other CTAs store the zeros.
Layout    pieces (2, parts, D): 0 of the segment that begins in the stretch and goes on, 1 of the one that began before.
          In the second kernel a CTA looks for the segment that begins in stretch p and goes on: there is at most one.
Requires  sm_80 or newer; float32, float16 or bfloat16; contiguous columns, any row stride; offsets int32, not
          decreasing, from 0 to T at most: the caller's duty, as to check it on the host would synchronise (others give
          wrong means, but touch no foreign memory). They may leave out rows at both ends. No backward.
Verify    python scripts/verify_kernel.py examples/segment_mean.py
Measured  H200: 3.05 to 1112.98 times as fast as torch.segment_reduce
          (results/h200-2026-11-27-6cf75fd-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

LENGTHS = {
    "empties": ((0, 0, 5, 0, 1, 0, 0, 40, 3, 0), 24, {}),
    "one": ((1,), 1, {}),
    "nothing": ((0, 0, 0), 8, {}),
    "no segment": ((), 8, {}),
    "long": ((2500, 1, 0, 999), 8, {}),
    "odd": ((7, 100, 0, 33, 8, 9), 33, {}),
    "fp32": ((13, 0, 200, 1, 64), 129, {"dtype": torch.float32}),
    "fp16": ((13, 0, 200, 1, 64), 136, {"dtype": torch.float16}),
    "fp32 vectors": ((50, 2, 0, 90), 132, {"dtype": torch.float32}),
    "few": ((3, 0, 4), 136, {}),
    "outside": ((20, 31, 0, 9), 40, {"before": 11, "after": 19}),
    "short": (tuple(i * 7 % 5 for i in range(300)), 64, {}),
    "wide": ((3, 9, 17), 4104, {}),
}
TEST_CASES = {name: {"lengths": lengths, "columns": columns, **more}
              for name, (lengths, columns, more) in LENGTHS.items()}
BENCH_CASES = {
    "64x4096 rows, D=1024": {"lengths": (4096,) * 64, "columns": 1024},
    "uneven, D=1024": {"lengths": tuple(1 + 8191 * (37 * i % 64) // 63 for i in range(64)), "columns": 1024},
    "one of 2^20, D=128": {"lengths": (1 << 20,), "columns": 128},
    "100000 of 0 to 20, D=256": {"lengths": tuple(i * 13 % 21 for i in range(100000)), "columns": 256},
}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"LDG.128": ">=4", "load_bytes_in_flight": ">=128", "spill_bytes": 0}}


def get_inputs(lengths=(100, 0, 17, 300, 1), columns=256, before=0, after=0, dtype=torch.bfloat16, device="cuda"):
    """x (T, columns), offsets of segments of these lengths; `before` and `after` rows belong to none."""
    offsets = torch.tensor([0, *lengths]).cumsum(0) + before
    x = torch.randn(int(offsets[-1]) + after, columns, dtype=dtype, device=device)
    return [x, offsets.to(device=device, dtype=torch.int32)]


def reference_fn(x, offsets):
    lengths = offsets.diff()
    if bool((lengths < 0).any()) or int(offsets[0]) < 0 or int(offsets[-1]) > x.shape[0]:
        raise ValueError("offsets must not decrease, and lie from 0 to T")
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    owners = torch.repeat_interleave(torch.arange(len(lengths), device=x.device), lengths)
    sums = wide.new_zeros(len(lengths), x.shape[1]).index_add(0, owners, wide[int(offsets[0]) : int(offsets[-1])])
    return (sums / lengths.clamp(min=1)[:, None]).to(x.dtype)


def flops(x, offsets):
    return x.shape[1] * int(offsets[-1] - offsets[0])


def bytes_moved(x, offsets):
    return x.shape[1] * x.itemsize * (int(offsets[-1] - offsets[0]) + len(offsets) - 1) + 4 * len(offsets)


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 256  # of a CTA
UNROLL = 8  # rows of a thread in flight
FILL = 512  # threads to an SM: with UNROLL vectors each, 64 KB in flight
SHORTEST = 8  # rows of the shortest stretch
LANES, FINAL_UNROLL = 8, 4  # along a row of pieces; pieces in flight
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class SegmentMean:
    """vector: elements of an access; it divides D. has_pieces: whether there is more than one stretch."""

    def __init__(self, vector, has_pieces):
        self.vector, self.has_pieces = vector, has_pieces

    @cute.jit
    def __call__(self, mX: cute.Tensor, mOffset: cute.Tensor, mP: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        vectors, parts, segments = mX.shape[1] // self.vector, mP.shape[1], mY.shape[0]
        sum_ctas, zero_ctas = (cute.ceil_div(n * vectors, THREADS) for n in (parts, segments))
        self.sum_rows(mX, mOffset, mP, mY, sum_ctas).launch(
            grid=(sum_ctas + zero_ctas, 1, 1), block=(THREADS, 1, 1), stream=stream,
            min_blocks_per_mp=2, preferred_smem_carveout=0)  # NOTE: without the 2, ptxas lets loads wait for others
        if const_expr(self.has_pieces):
            self.merge(mX, mOffset, mP, mY).launch(
                grid=(parts, cute.ceil_div(vectors, LANES), 1), block=(LANES, THREADS // LANES, 1), stream=stream)

    @cute.jit
    def search(self, mOffset, row):
        """The segment of a row that has one: the last that begins at it or before it."""
        low, high = Int32(0), mOffset.shape[0] - 1
        while high - low > 1:
            middle = (low + high) >> 1
            if mOffset[middle] <= row:
                low = middle
            else:
                high = middle
        return low

    @cute.jit
    def stretches(self, mX, mOffset, parts):
        """(first row, end, rows of a stretch) of the line."""
        first = cutlass.max(mOffset[0], 0)
        end = cutlass.min(mOffset[mOffset.shape[0] - 1], mX.shape[0])
        return first, end, cutlass.max(cute.ceil_div(end - first, parts), SHORTEST)

    def view(self, mT, row, column):
        return cute.make_tensor(mT[row, None].iterator + column, cute.make_layout(self.vector))  # (V)

    @cute.kernel
    def sum_rows(self, mX: cute.Tensor, mOffset: cute.Tensor, mP: cute.Tensor, mY: cute.Tensor, sum_ctas: Int32):
        thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
        vectors, parts, segments = mX.shape[1] // self.vector, mP.shape[1], mY.shape[0]
        rS, rY = (cute.make_rmem_tensor(self.vector, t) for t in (Float32, mY.element_type))  # (V)
        if block >= sum_ctas:  # zeros
            index = (block - sum_ctas) * THREADS + thread
            segment, column = index // vectors, cute.assume(index % vectors * self.vector, divby=self.vector)
            if segment < segments:
                if mOffset[segment] == mOffset[segment + 1]:
                    rY.fill(0.0)
                    cute.autovec_copy(rY, self.view(mY, Int64(segment), column))
        else:
            index = block * THREADS + thread
            part, column = index // vectors, cute.assume(index % vectors * self.vector, divby=self.vector)
            first, end, share = self.stretches(mX, mOffset, parts)
            low = first + part * share
            high = cutlass.min(low + share, end)
            if part < parts and low < high:
                rX = cute.make_rmem_tensor((self.vector, UNROLL), mX.element_type)  # (V, U)
                row, segment = low, self.search(mOffset, low)
                while row < high:
                    begin, stop = mOffset[segment], mOffset[segment + 1]
                    upto = cutlass.min(stop, high)
                    whole = cutlass.max(upto - row, 0) // UNROLL  # rounds without a condition
                    rS.fill(0.0)
                    for r in cutlass.range(whole, unroll=1):
                        for u in cutlass.range_constexpr(UNROLL):
                            cute.autovec_copy(self.view(mX, Int64(row + r * UNROLL + u), column), rX[None, u])
                        for u in cutlass.range_constexpr(UNROLL):
                            rS.store(rS.load() + rX[None, u].load().to(Float32))
                    for at in cutlass.range(row + whole * UNROLL, upto, unroll=1):
                        cute.autovec_copy(self.view(mX, Int64(at), column), rX[None, 0])
                        rS.store(rS.load() + rX[None, 0].load().to(Float32))
                    if begin >= low and stop <= high:
                        rY.store((rS.load() / Float32(stop - begin)).to(mY.element_type))
                        cute.autovec_copy(rY, self.view(mY, Int64(segment), column))
                    else:
                        piece = mP[0 if begin >= low else 1, None, None]
                        cute.autovec_copy(rS, self.view(piece, part, column))
                    row = cutlass.max(upto, row + 1)
                    segment = cutlass.min(segment + 1, segments - 1)
                    if row < high and mOffset[segment + 1] <= row:  # empty ones in between
                        segment = self.search(mOffset, row)

    @cute.kernel
    def merge(self, mX: cute.Tensor, mOffset: cute.Tensor, mP: cute.Tensor, mY: cute.Tensor):
        lane, group, _ = cute.arch.thread_idx()
        part, block, _ = cute.arch.block_idx()
        groups, parts = THREADS // LANES, mP.shape[1]
        smem = cutlass.memory.SmemAllocator()
        sS = smem.allocate_tensor(Float32, cute.make_layout((self.vector, LANES, groups)), 16)  # (V, L, G)
        first, end, share = self.stretches(mX, mOffset, parts)
        low = first + part * share
        high = cutlass.min(low + share, end)
        if low < high and high < end:
            segment = self.search(mOffset, high - 1)
            begin, stop = mOffset[segment], cutlass.min(mOffset[segment + 1], end)
            if begin >= low and stop > high:  # the same for all threads
                count = (stop - 1 - first) // share - part + 1  # its pieces
                column = cute.assume((block * LANES + lane) * self.vector, divby=self.vector)
                rS = cute.make_rmem_tensor(self.vector, Float32)  # (V)
                rP = cute.make_rmem_tensor((self.vector, FINAL_UNROLL), Float32)  # (V, U)
                rS.fill(0.0)
                if column < mY.shape[1]:
                    if group == 0:
                        cute.autovec_copy(self.view(mP[0, None, None], part, column), rS)
                    mine = 1 + group  # of the others
                    whole = cutlass.max(count - mine + groups - 1, 0) // (groups * FINAL_UNROLL)
                    for r in cutlass.range(whole, unroll=1):
                        for u in cutlass.range_constexpr(FINAL_UNROLL):
                            at = part + mine + (r * FINAL_UNROLL + u) * groups
                            cute.autovec_copy(self.view(mP[1, None, None], at, column), rP[None, u])
                        for u in cutlass.range_constexpr(FINAL_UNROLL):
                            rS.store(rS.load() + rP[None, u].load())
                    for at in cutlass.range(mine + whole * FINAL_UNROLL * groups, count, groups, unroll=1):
                        cute.autovec_copy(self.view(mP[1, None, None], part + at, column), rP[None, 0])
                        rS.store(rS.load() + rP[None, 0].load())
                cute.autovec_copy(rS, sS[None, lane, group])
                step = groups
                while const_expr(step > 1):  # a tree, whose order is fixed
                    step //= 2
                    cute.arch.barrier()
                    if group < step:
                        rS.store(sS[None, lane, group].load() + sS[None, lane, group + step].load())
                        cute.autovec_copy(rS, sS[None, lane, group])
                if (group == 0) & (column < mY.shape[1]):
                    rY = cute.make_rmem_tensor(self.vector, mY.element_type)
                    rY.store((rS.load() / Float32(stop - begin)).to(mY.element_type))
                    cute.autovec_copy(rY, self.view(mY, Int64(segment), column))


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, vector, has_pieces):
    dtype, rows, parts, segments = DTYPES[dtype], cute.sym_int(), cute.sym_int(), cute.sym_int()
    columns, step = cute.sym_int(divisibility=vector), functools.partial(cute.sym_int64, divisibility=vector)
    align = vector * dtype.width // 8
    mX = make_fake_tensor(dtype, (rows, columns), stride=(step(), 1), assumed_align=align)
    mOffset = make_fake_tensor(Int32, (cute.sym_int(),), stride=(cute.sym_int64(),), assumed_align=4)
    mP = make_fake_tensor(Float32, (2, parts, columns), stride=(step(), step(), 1), assumed_align=min(16, 4 * vector))
    mY = make_fake_tensor(dtype, (segments, columns), stride=(step(), 1), assumed_align=align)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernel = SegmentMean(vector, has_pieces)
    return cute.compile(kernel, mX, mOffset, mP, mY, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


@functools.cache
def _multiprocessors(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


def kernel_fn(x, offsets):
    """Means (S, D) in x's dtype of the rows of x (T, D) between offsets (S + 1,) int32; ValueError for other input."""
    if x.ndim != 2 or x.dtype not in DTYPES or not x.is_cuda or not 1 <= x.shape[1] <= 1 << 20 or x.shape[0] >> 30:
        raise ValueError("x must be a float32, float16 or bfloat16 matrix on a CUDA device, below 2^30 rows and 1 to "
                         f"2^20 columns; got {x.dtype} of shape {tuple(x.shape)} on {x.device}")
    if x.stride(1) != 1 < x.shape[1] or (x.requires_grad and torch.is_grad_enabled()):
        raise ValueError("x must have contiguous columns and need no gradient: pass x.detach().contiguous(); "
                         f"got strides {x.stride()} and requires_grad={x.requires_grad}")
    if offsets.ndim != 1 or offsets.dtype != torch.int32 or offsets.device != x.device or len(offsets) == 0:
        raise ValueError(f"offsets must be int32 (S + 1,) on {x.device}; got {offsets.dtype} {tuple(offsets.shape)} on "
                         f"{offsets.device}")
    (rows, columns), segments, size = x.shape, len(offsets) - 1, x.itemsize
    out = x.new_empty(segments, columns)
    if segments == 0:
        return out
    bits = 16 | x.data_ptr() | x.stride(0) * size | columns * size
    vector = (bits & -bits) // size
    vectors = columns // vector
    parts = max(1, min(-(-rows // SHORTEST), _multiprocessors(x.device) * FILL // vectors))
    if (parts + segments + THREADS) * vectors >> 31:
        raise ValueError(f"too many segments of so many columns: {segments} of {columns}")
    pieces = x.new_empty((2, parts, columns), dtype=torch.float32)
    _launcher(x.dtype, vector, parts > 1)(x, offsets, pieces, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
