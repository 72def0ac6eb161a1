"""GQA decode: one new token per sequence attends to a contiguous KV cache that query heads share (bandwidth-bound).

Idea      Every byte of the cache is read once, so all that matters is that enough loads are in flight, evenly spread.
          A warp is a pipeline of its own: TMA fills its ring of stages, and the warp that waits for a stage is the one
          that loads it again. There is no producer, and no warp ever waits for another. The query heads of a KV head
          are the 16 rows of an mma.sync, padded, so that a K or V element that was loaded once serves all of them.

Split     The blocks of all (sequence, KV head) pairs lie on one line, and each warp of the grid takes an equal stretch
          of it, whatever the lengths. A pair within one stretch is stored at once; a stretch that begins or ends within
          a pair leaves a piece there, normalised, with its log-sum-exp, and a second kernel merges the pieces.

          line      | sequence 0, head 0 | sequence 0, head 1 | sequence 1, head 0 | ...
          stretches |    warp 0     |    warp 1     |    warp 2     |  ...
          pieces    slot p: the pair that begins in p and goes on; slot parts + p: the one that began before p

Requires  sm_90a; bfloat16 or float16; head dimension 64 or 128; up to 16 query heads per KV head. Lengths are read on
          the device only: a CUDA graph may change them; none may exceed the cache. No pages: templates/mla_decode.py
          shows them (the page's number takes the place of the sequence's as the last TMA coordinate). No backward.
Verify    python scripts/verify_kernel.py examples/gqa_decode.py
Measured  H200: 4380 GB/s at 64 x 4096, 1.03 of a copy's bandwidth; 4110 GB/s for one sequence of 131072
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools
import math

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64, pipeline
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------


def reference_fn(q, k, v, lengths, softmax_scale=None):
    """What kernel_fn computes, one sequence at a time in float32 (float64 for float64 inputs)."""
    (_, heads, dim), heads_kv = q.shape, k.shape[2]
    wide, out = torch.promote_types(q.dtype, torch.float32), torch.zeros_like(q)
    for b, length in enumerate(lengths.tolist()):
        if length:
            grouped = q[b].view(heads_kv, heads // heads_kv, dim).to(wide)
            scores = torch.einsum("hgd,nhd->hgn", grouped, k[b, :length].to(wide)) * (softmax_scale or dim**-0.5)
            out[b] = torch.einsum("hgn,nhd->hgd", scores.softmax(-1), v[b, :length].to(wide)).reshape(heads, dim)
    return out


TEST_CASES = {
    "tiny": {"lengths": (70, 0, 1), "capacity": 80, "heads": 4, "heads_kv": 1, "dim": 64},
    "split": {"lengths": (290,), "capacity": 290, "heads": 8, "heads_kv": 1},
    "fp16": {"lengths": (33, 96), "capacity": 100, "heads": 2, "heads_kv": 2, "dtype": torch.float16},
    "group 16": {"lengths": (129,), "capacity": 136, "heads": 32, "heads_kv": 2, "dim": 64, "dtype": torch.float16},
    "varlen": {"lengths": (1, 31, 32, 33, 1000, 2111, 4096, 700), "capacity": 4096},
    "one long": {"lengths": (20000,), "capacity": 20001},
    "many short": {"lengths": tuple(range(150)), "capacity": 160, "heads": 20, "heads_kv": 4},
    **{f"group {g}": {"lengths": (300, 77, 1025), "capacity": 1100, "heads": 2 * g, "heads_kv": 2} for g in (1, 5, 8)},
}
BENCH_CASES = {
    **{f"{batch}x{length}": {"lengths": (length,) * batch, "capacity": length} for batch, length in (
        (64, 4096), (16, 8192), (1, 8192), (1, 131072))},
    "64x4096 group=8": {"lengths": (4096,) * 64, "capacity": 4096, "heads": 64},
    "64x4096 dim=64": {"lengths": (4096,) * 64, "capacity": 4096, "dim": 64},
    "varlen": {"lengths": tuple(1 + 8191 * (37 * i % 64) // 63 for i in range(64)), "capacity": 8192},
}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HMMA": ">0", "UTMALDG": ">0", "LDSM": ">0", "spill_bytes": 0}}


def get_inputs(lengths=(1000, 64, 333), capacity=1024, heads=32, heads_kv=8, dim=128, dtype=torch.bfloat16,
               device="cuda"):
    """q, k, v, lengths; the rows of the cache beyond a length, which must not count, are NaN."""
    q = torch.randn(len(lengths), heads, dim, dtype=dtype, device=device)
    k, v = (torch.randn(len(lengths), capacity, heads_kv, dim, dtype=dtype, device=device) for _ in range(2))
    for b, length in enumerate(lengths):
        k[b, length:] = v[b, length:] = torch.nan
    return [q, k, v, torch.tensor(lengths, dtype=torch.int32, device=device)]


def flops(q, k, v, lengths):
    return 4 * q.shape[1] * q.shape[2] * int(lengths.sum())


def bytes_moved(q, k, v, lengths):
    return q.element_size() * (2 * k.shape[2] * k.shape[3] * int(lengths.sum()) + 2 * q.numel())


# --- Configuration ---------------------------------------------------------------------------------------------------

DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16}
WARPS, TOKENS = 4, 32  # EDIT: of a CTA, one to an SM; rows of K and of V in a stage
RING_BYTES = 48 * 1024  # EDIT: of each warp: at 192 KB an SM, the loads in flight cover the latency of DRAM
SHORTEST = 4  # EDIT: blocks of the shortest stretch: a piece costs as much as about one block
MERGERS = 4  # warps that merge the pieces of one query head
MOST_HEADS = 16  # query heads to a KV head: the rows of an mma.sync

# --- Device ----------------------------------------------------------------------------------------------------------


def _blocks(length):
    """An empty sequence has one block without tokens, so that somebody stores its zeros."""
    return cutlass.max(cute.ceil_div(length, TOKENS), 1)


def _share(total, parts):
    """Blocks of a stretch."""
    return cutlass.max(cute.ceil_div(total, parts), SHORTEST)


def _tma(x, swizzle):
    """A TMA atom for TOKENS rows of one head of x (batch, tokens, heads, dim), and x (tokens, 64, dim / 64, heads,
    batch): 64 columns are the span of the swizzle."""
    (batch, tokens, heads, dim), (batch_step, step, head_step, _) = x.shape, x.stride
    box = (TOKENS, 64, dim // 64)
    layout = cute.make_layout((tokens, 64, dim // 64, heads, batch), stride=(step, 1, 64, head_step, batch_step))
    return cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), cute.make_tensor(x.iterator, layout),
        cute.make_composed_layout(swizzle, 0, cute.make_ordered_layout(box, order=(1, 0, 2))), box)


class GqaDecode:
    def __init__(self, dim):
        self.dim, self.stages = dim, RING_BYTES // (4 * TOKENS * dim)
        self.box = (TOKENS, 64, dim // 64)

    @cute.jit
    def __call__(self, mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mLength: cute.Tensor, mO: cute.Tensor,
                 mPiece: cute.Tensor, mPieceLse: cute.Tensor, scale_log2: Float32, stream: cuda.CUstream):
        self.dtype = mQ.element_type
        layout = sm90.make_smem_layout_b(LayoutEnum.ROW_MAJOR, (64, TOKENS, self.dim), self.dtype, WARPS * self.stages)
        op = warp.MmaF16BF16Op(self.dtype, Float32, (16, 8, 16))
        tiled_mma = cute.make_tiled_mma(op, permutation_mnk=(16, 16, 16))  # one ldmatrix feeds two instructions
        heads_kv, parts = mK.shape[2], mPieceLse.shape[0] // 2
        self.kernel(*_tma(mK, layout.inner), *_tma(mV, layout.inner), mQ, mLength, mO, mPiece, mPieceLse, heads_kv,
                    scale_log2, tiled_mma, layout).launch(
            grid=(parts // WARPS, 1, 1), block=(WARPS * 32, 1, 1), min_blocks_per_mp=1, stream=stream)
        self.merge(mLength, mO, mPiece, mPieceLse, heads_kv).launch(
            grid=(mO.shape[1], mO.shape[0], 1), block=(MERGERS * 32, 1, 1), stream=stream, use_pdl=True)

    @cute.kernel
    def kernel(self, tma_k: cute.CopyAtom, gK: cute.Tensor, tma_v: cute.CopyAtom, gV: cute.Tensor, mQ: cute.Tensor,
               mLength: cute.Tensor, mO: cute.Tensor, mPiece: cute.Tensor, mPieceLse: cute.Tensor, heads_kv: Int32,
               scale_log2: Float32, tiled_mma: cute.TiledMma, layout: cute.ComposedLayout):
        lane, warp_idx = cute.arch.lane_idx(), cute.arch.make_warp_uniform(cute.arch.warp_idx())
        parts, part = mPieceLse.shape[0] // 2, cute.arch.block_idx()[0] * WARPS + warp_idx
        group, first_stage = mQ.shape[1] // heads_kv, warp_idx * self.stages
        smem = cutlass.memory.SmemAllocator()
        sK = smem.allocate_tensor(self.dtype, layout.outer, 1024, swizzle=layout.inner)  # (TOKENS, dim, stages)
        sV = smem.allocate_tensor(self.dtype, layout.outer, 1024, swizzle=layout.inner)
        bars = smem.allocate_array(Int64, WARPS * self.stages) + first_stage
        cute.arch.griddepcontrol_launch_dependents()
        with cute.arch.elect_one():
            for stage in cutlass.range_constexpr(self.stages):
                cute.arch.mbarrier_init(bars + stage, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.sync_warp()
        loads = [(tma_k, *self.partition(tma_k, gK, sK)), (tma_v, *self.partition(tma_v, gV, sV))]

        copy_k = cute.make_tiled_copy_B(
            cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), self.dtype), tiled_mma).get_slice(lane)
        copy_v = cute.make_tiled_copy_B(
            cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), self.dtype), tiled_mma).get_slice(lane)
        sVt = cute.composition(sV, cute.make_ordered_layout(
            (self.dim, TOKENS, WARPS * self.stages), order=(1, 0, 2)))  # (dim, TOKENS, stages)
        tK, tV, thr = copy_k.partition_S(sK), copy_v.partition_S(sVt), tiled_mma.get_slice(lane)
        rQ = tiled_mma.make_fragment_A(tiled_mma.partition_shape_A((MOST_HEADS, self.dim)))
        rP = tiled_mma.make_fragment_A(tiled_mma.partition_shape_A((MOST_HEADS, TOKENS)))
        rK = tiled_mma.make_fragment_B(tiled_mma.partition_shape_B((TOKENS, 16)))
        rV = tiled_mma.make_fragment_B(tiled_mma.partition_shape_B((self.dim, 16)))
        wV = cute.make_tensor(cute.recast_ptr(rV.iterator, dtype=Int32), cute.make_layout((2, self.dim // 8)))
        acc_s = cute.make_rmem_tensor(thr.partition_shape_C((MOST_HEADS, TOKENS)), Float32)
        acc_o = cute.make_rmem_tensor(thr.partition_shape_C((MOST_HEADS, self.dim)), Float32)
        # As (2 rows, columns): this thread has rows lane / 4 and 8 more, columns 2 * (lane % 4), 1 more, and every 8th.
        S, O = (cute.make_tensor(acc.iterator, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))
                for acc in (acc_s, acc_o))
        peak, total, shrink = (cute.make_rmem_tensor(2, Float32) for _ in range(3))

        b, h, j, blocks, left = self.schedule(mLength, heads_kv, parts, part)
        next_b, next_h, next_j, next_blocks, unloaded = b, h, j, blocks, left
        for stage in cutlass.range(self.stages, unroll=1):
            if unloaded > 0:
                self.load(loads, bars + stage, first_stage + stage, next_b, next_h, next_j)
                next_b, next_h, next_j, next_blocks = self.following(
                    mLength, heads_kv, next_b, next_h, next_j, next_blocks)
                unloaded -= 1
        ring = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, self.stages)
        while left > 0:  # the pairs of this stretch
            end, length = cutlass.min(blocks, j + left), mLength[b]
            rQ.fill(0)
            for r in cutlass.range_constexpr(2):
                if lane // 4 + 8 * r < group:
                    gQ = cute.local_tile(mQ[b, h * group + lane // 4 + 8 * r, None], (2,), (None,))
                    for c in cutlass.range_constexpr(self.dim // 8):
                        cute.autovec_copy(gQ[None, 4 * c + lane % 4], rQ[(None, r, c % 2), 0, c // 2])
            acc_o.fill(0.0)
            peak.fill(-1e30)
            total.fill(0.0)
            for block in cutlass.range(j, end, unroll=1):
                stage, keys = first_stage + ring.index, length - block * TOKENS
                cute.arch.mbarrier_wait(bars + ring.index, ring.phase)
                acc_s.fill(0.0)
                for k in cutlass.range_constexpr(self.dim // 16):
                    cute.copy(copy_k, tK[None, None, k, stage], copy_k.retile(rK)[None, None, 0])
                    cute.gemm(tiled_mma, acc_s, rQ[None, None, k], rK[None, None, 0], acc_s)
                if keys < TOKENS:
                    for r, c in ((r, c) for r in range(2) for c in range(TOKENS // 4)):
                        S[r, c] = S[r, c] if c // 2 * 8 + c % 2 + lane % 4 * 2 < keys else -Float32.inf
                for r in cutlass.range_constexpr(2):
                    top = S[r, None].load().reduce(cute.ReductionOp.MAX, peak[r], 0)
                    top = cute.arch.warp_reduction_max(top, threads_in_group=4)
                    shrink[r] = cute.math.exp2((peak[r] - top) * scale_log2, fastmath=True)
                    S[r, None].store(cute.math.exp2(S[r, None].load() * scale_log2 - top * scale_log2, fastmath=True))
                    total[r] = S[r, None].load().reduce(cute.ReductionOp.ADD, total[r] * shrink[r], 0)
                    O[r, None].store(O[r, None].load() * shrink[r])
                    peak[r] = top
                # The accumulator of two n-blocks is the A operand of one k-block, value by value.
                cute.make_tensor(rP.iterator, acc_s.layout).store(acc_s.load().to(self.dtype))
                for k in cutlass.range_constexpr(TOKENS // 16):
                    cute.copy(copy_v, tV[None, None, k, stage], copy_v.retile(rV)[None, None, 0])
                    if keys < TOKENS:  # what lies beyond the length may be NaN, and 0 * NaN is NaN
                        for half in cutlass.range_constexpr(2):
                            there = keys - (k * 16 + half * 8 + lane % 4 * 2)  # of the two tokens of a word
                            mask = Int32(-1) if there > 1 else Int32(0xFFFF) if there == 1 else Int32(0)
                            for n in cutlass.range_constexpr(self.dim // 8):
                                wV[half, n] = wV[half, n] & mask
                    cute.gemm(tiled_mma, acc_o, rP[None, None, k], rV[None, None, 0], acc_o)
                cute.arch.sync_warp()  # all lanes have read the stage
                if unloaded > 0:
                    self.load(loads, bars + ring.index, stage, next_b, next_h, next_j)
                    next_b, next_h, next_j, next_blocks = self.following(
                        mLength, heads_kv, next_b, next_h, next_j, next_blocks)
                    unloaded -= 1
                ring.advance()
            for r in cutlass.range_constexpr(2):
                weight = cute.arch.warp_reduction_sum(total[r], threads_in_group=4)
                inverse = cute.arch.rcp_approx(weight) if weight > 0.0 else Float32(0.0)
                O[r, None].store(O[r, None].load() * inverse)
                head = h * group + lane // 4 + 8 * r
                if lane // 4 + 8 * r < group:
                    if j == 0 and end == blocks:
                        self.store(O[r, None], mO[b, head, None])
                    else:
                        row, slot = lane // 4 + 8 * r, part if j == 0 else part + parts
                        self.store(O[r, None], mPiece[slot, row, None])
                        if lane % 4 == 0:
                            lse = -Float32.inf
                            if weight > 0.0:
                                lse = peak[r] * scale_log2 + cute.math.log2(weight, fastmath=True)
                            mPieceLse[slot, row] = lse
            left -= end - j
            b, h, j, blocks = self.following(mLength, heads_kv, b, h, end - 1, blocks)

    def partition(self, tma, gX, sX):
        """What `tma` copies between: (values, block, head, batch) of gX and (values, stage) of sX."""
        layout = cute.make_ordered_layout((*self.box, WARPS * self.stages), order=(1, 0, 2, 3))
        sX = cute.group_modes(cute.make_tensor(sX.iterator, layout), 0, 3)
        gX = cute.group_modes(cute.local_tile(gX, self.box, (None, 0, 0, None, None)), 0, 3)
        return cpasync.tma_partition(tma, 0, cute.make_layout(1), sX, gX)

    @cute.jit
    def load(self, loads, bar, stage, b, h, j):
        """K and V of block j of (sequence b, KV head h) into a stage that nobody reads."""
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(bar, 4 * TOKENS * self.dim)
        for tma, tXs, tXg in loads:
            cute.copy(tma, tXg[None, j, h, b], tXs[None, stage], tma_bar_ptr=bar)

    @cute.jit
    def following(self, mLength, heads_kv, b, h, j, blocks):
        """The block after block j of `blocks` of (sequence b, KV head h), with the number of blocks there."""
        j += 1
        if j == blocks:
            j = Int32(0)
            h += 1
            if h == heads_kv:
                h = Int32(0)
                b += 1
                if b < mLength.shape[0]:
                    blocks = _blocks(mLength[b])
        return b, h, j, blocks

    @cute.jit
    def schedule(self, mLength, heads_kv, parts, part):
        """Where the stretch of a part begins, the blocks of its first pair, and its length (0 or less: none)."""
        lane, batch = cute.arch.lane_idx(), mLength.shape[0]
        count = cute.ceil_div(batch, 32)  # sequences of a lane
        begin, end = lane * count, cutlass.min(lane * count + count, batch)
        mine = Int32(0)
        for b in cutlass.range(begin, end, unroll=4):
            mine += _blocks(mLength[b])
        total = cute.arch.warp_reduction_sum(mine) * heads_kv
        share = _share(total, parts)
        upto, low = mine, part * share
        for step in cutlass.range_constexpr(5):
            below = cute.arch.shuffle_sync_up(upto, 1 << step)
            upto += below if lane >= 1 << step else 0
        upto, start, before = upto - mine, Int32(0), Int32(0)
        for b in cutlass.range(begin, end, unroll=4):
            upto += _blocks(mLength[b])
            if upto * heads_kv <= low:
                start, before = upto, before + 1
        start, before = cute.arch.warp_reduction_max(start), cute.arch.warp_reduction_sum(before)
        left, blocks = cutlass.min(share, total - low), Int32(1)
        if left > 0:
            blocks = _blocks(mLength[before])
        rest = low - start * heads_kv
        return before, rest // blocks, rest % blocks, blocks, left

    @cute.jit
    def store(self, values, row):
        """This thread's pairs of a row; every 8 columns another."""
        pairs = cute.local_tile(row, (2,), (None,))
        for c in cutlass.range_constexpr(self.dim // 8):
            pair = cute.make_rmem_tensor(2, row.element_type)
            for i in cutlass.range_constexpr(2):
                pair[i] = values[2 * c + i].to(row.element_type)
            cute.autovec_copy(pair, pairs[None, 4 * c + cute.arch.lane_idx() % 4])

    @cute.kernel
    def merge(self, mLength: cute.Tensor, mO: cute.Tensor, mPiece: cute.Tensor, mPieceLse: cute.Tensor,
              heads_kv: Int32):
        """One query head: the sum of its pieces, weighted by their sums of exponentials."""
        head, sequence, _ = cute.arch.block_idx()
        lane, warp_idx = cute.arch.lane_idx(), cute.arch.make_warp_uniform(cute.arch.warp_idx())
        batch, parts, group, width = mLength.shape[0], mPieceLse.shape[0] // 2, mO.shape[1] // heads_kv, self.dim // 32
        smem = cutlass.memory.SmemAllocator()
        sO = smem.allocate_tensor(Float32, cute.make_layout((width, 32, MERGERS)), 16)
        sTotal = smem.allocate_tensor(Float32, cute.make_layout(MERGERS), 16)
        before, total = Int32(0), Int32(0)
        for b in cutlass.range(lane, batch, 32, unroll=4):
            count = _blocks(mLength[b])
            total += count
            before += count if b < sequence else 0
        blocks, share = _blocks(mLength[sequence]), _share(cute.arch.warp_reduction_sum(total) * heads_kv, parts)
        start = cute.arch.warp_reduction_sum(before) * heads_kv + head // group * blocks
        first, last = start // share, (start + blocks - 1) // share
        cute.arch.griddepcontrol_wait()
        if first < last:
            row, top = head % group, Float32(-1e30)
            for part in cutlass.range(first + lane, last + 1, 32, unroll=1):
                top = cutlass.max(top, mPieceLse[part if part == first else part + parts, row])
            top = cute.arch.warp_reduction_max(top)
            acc, piece = cute.make_rmem_tensor(width, Float32), cute.make_rmem_tensor(width, Float32)
            acc.fill(0.0)
            sums = Float32(0.0)
            for part in cutlass.range(first + warp_idx, last + 1, MERGERS, unroll=4):
                slot = part if part == first else part + parts
                cute.autovec_copy(cute.local_tile(mPiece[slot, row, None], (width,), (lane,)), piece)
                weight = cute.math.exp2(mPieceLse[slot, row] - top, fastmath=True)
                acc.store(acc.load() + weight * piece.load())
                sums += weight
            cute.autovec_copy(acc, sO[None, lane, warp_idx])
            if lane == 0:
                sTotal[warp_idx] = sums
            cute.arch.sync_threads()
            if warp_idx == 0:
                for w in cutlass.range_constexpr(1, MERGERS):
                    acc.store(acc.load() + sO[None, lane, w].load())
                    sums += sTotal[w]
                rounded = cute.make_rmem_tensor(width, mO.element_type)
                rounded.store((acc.load() * cute.arch.rcp_approx(sums)).to(mO.element_type))
                cute.autovec_copy(rounded, cute.local_tile(mO[sequence, head, None], (width,), (lane,)))


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, dim):
    """The compiled launch for one dtype and head dimension; every other extent is a run-time value."""
    dtype = DTYPES[dtype]
    batch, heads, heads_kv, capacity, slots = (cute.sym_int() for _ in range(5))
    step = functools.partial(cute.sym_int64, divisibility=8)

    def fake(element, shape, *strides, align=16):
        return make_fake_tensor(element, shape, stride=(*strides, 1), assumed_align=align)

    compiled = cute.compile(
        GqaDecode(dim), fake(dtype, (batch, heads, dim), step(), step()),
        *(fake(dtype, (batch, capacity, heads_kv, dim), step(), step(), step()) for _ in range(2)),
        fake(Int32, (batch,), align=4), fake(dtype, (batch, heads, dim), step(), dim),
        fake(Float32, (slots, MOST_HEADS, dim), MOST_HEADS * dim, dim), fake(Float32, (slots, MOST_HEADS), MOST_HEADS),
        Float32(1.0), make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


@functools.cache
def _multiprocessors(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


def _check(q, k, v, lengths, softmax_scale):
    """ValueError for anything that the kernel cannot take."""
    for name, x, rank in (("q", q, 3), ("k", k, 4), ("v", v, 4), ("lengths", lengths, 1)):
        if x.ndim != rank or not x.is_cuda or x.device != q.device or x.stride(-1) != 1:
            raise ValueError(f"{name} must have rank {rank} and a contiguous last mode, on the CUDA device of q")
    (batch, heads, dim), (_, capacity, heads_kv, _) = q.shape, k.shape
    if q.dtype not in DTYPES or k.dtype != q.dtype or v.dtype != q.dtype or dim not in (64, 128):
        raise ValueError(f"q, k and v must be bfloat16 or float16 alike with head dimension 64 or 128; got {q.dtype}, "
                         f"{k.dtype}, {v.dtype} and {dim}")
    if k.shape != v.shape or k.shape != (batch, capacity, heads_kv, dim) or not capacity or not heads_kv:
        raise ValueError(f"k and v must be ({batch}, capacity, heads_kv, {dim}); got {tuple(k.shape)} and "
                         f"{tuple(v.shape)}")
    if heads % heads_kv or not 1 <= heads // heads_kv <= MOST_HEADS:
        raise ValueError(f"a KV head serves 1 to {MOST_HEADS} query heads; got {heads} over {heads_kv}")
    if lengths.dtype != torch.int32 or len(lengths) != batch:
        raise ValueError(f"lengths must be int32 with one for each of the {batch} sequences")
    if any(x.data_ptr() % 16 or any(stride % 8 for stride in x.stride()[:-1]) for x in (q, k, v)):
        raise ValueError("q, k and v must lie on 16 bytes, with strides of multiples of 8 elements, for TMA")
    if not softmax_scale > 0:
        raise ValueError(f"softmax_scale must be positive; got {softmax_scale}")
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        raise ValueError("this kernel has no backward: detach its inputs or call it under torch.no_grad()")


def kernel_fn(q, k, v, lengths, softmax_scale=None):
    """softmax(q k^T * softmax_scale) v for one query token of each sequence, over the first lengths[b] rows of k and v.

    q (batch, heads, dim), k and v (batch, capacity, heads_kv, dim), bfloat16 or float16 alike, any strides but the last
    in multiples of 16 bytes; lengths (batch,) int32, at most capacity; softmax_scale: dim ** -0.5 by default. Query
    head i reads KV head i // (heads / heads_kv). Returns out like q, contiguous; zeros for a sequence of length 0.
    ValueError for input it cannot take.
    """
    softmax_scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    _check(q, k, v, lengths, softmax_scale)
    batch, heads, dim = q.shape
    out = q.new_empty(batch, heads, dim)
    if batch:
        slots = 2 * WARPS * _multiprocessors(q.device)
        piece = q.new_empty(slots, MOST_HEADS, dim, dtype=torch.float32)
        piece_lse = q.new_empty(slots, MOST_HEADS, dtype=torch.float32)
        _launcher(q.dtype, dim)(q, k, v, lengths, out, piece, piece_lse, softmax_scale / math.log(2.0))
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=2e-2, atol=2e-3)
    print("PASS")
