"""Flash attention forward on Hopper, full or causal, with grouped query heads (bound by tensor cores and exp2).

Idea      Scores never leave the registers: the accumulator of S = Q K^T, exponentiated and rounded, is value by value
          the A operand of O += P V. Two things keep the tensor cores busy during exp2. Within a warpgroup, Q K^T of the
          next block is issued before P V of this one, so that the next softmax starts while P V still runs. Between
          the warpgroups, a baton in a ring: who holds it issues both products, and then computes its softmax while the
          others issue. Masks are computed in the blocks that need one only.

Roles     warp 0        loads by TMA: Q of a tile, then its K and V blocks from the last to the first
          warps 4-7     S, softmax and O of the first 64 rows of a tile; stores O by TMA
          warps 8-11    the same for the next 64 rows; at head dimension 64, where O takes half as many registers,
                        warps 12-15 for a third 64, unless that leaves the last round of CTAs too empty
Tiles     Persistent CTAs, as many as SMs. A tile is (128 or 192 rows, head, sequence). Without a mask tiles run through
          sections of as many KV heads as fit into L2, heads innermost, so that tiles that run together share K and V
          there. Causal tiles are one section, the longest first, and every other round of the grid is dealt in the
          opposite direction: who had the longest tile of one round gets the shortest of the next.
Buffers   Q and O a buffer each, K and V a ring each. K is released when S is there and V when P V is done, so the next
          loads run under this softmax, and the first loads of a tile under the end of the one before.

Requires  sm_90a; bfloat16 or float16; head dimension 64 or 128; any lengths. Causal counts from the end: query i sees
          keys up to i + len_k - len_q. No backward, but lse is returned for one.
Verify    python scripts/verify_kernel.py examples/flash_attention_sm90.py
Measured  H200, 16 heads, 8K to 32K tokens: 1.01 to 1.19 of the better of cuDNN and FlashAttention-2 at head dimension
          128, 1.03 to 1.27 at 64 (results/h200-2026-11-27-2f5c769-kernels.json)
"""

import functools
import math

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, const_expr, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------


def reference_fn(q, k, v, is_causal=False, softmax_scale=None):
    """What kernel_fn computes, some rows of a head at a time, in float32 (float64 for float64 inputs)."""
    (batch, len_q, heads, dim), (len_k, heads_kv) = q.shape, k.shape[1:3]
    wide = torch.promote_types(q.dtype, torch.float32)
    out, lse = torch.empty_like(q), q.new_empty(batch, heads, len_q, dtype=wide)
    keys = torch.arange(len_k, device=q.device)
    for b, h, row in ((b, h, row) for b in range(batch) for h in range(heads) for row in range(0, len_q, 2048)):
        rows, h_kv = slice(row, row + 2048), h // (heads // heads_kv)
        scores = q[b, rows, h].to(wide) @ k[b, :, h_kv].to(wide).T * (softmax_scale or dim**-0.5)
        if is_causal:
            seen = torch.arange(len_q, device=q.device)[rows, None] + len_k - len_q
            scores = scores.masked_fill(keys > seen, -torch.inf)
        lse[b, h, rows] = scores.logsumexp(-1)
        weights = (scores - lse[b, h, rows, None]).exp().masked_fill(lse[b, h, rows, None] == -torch.inf, 0.0)
        out[b, rows, h] = (weights @ v[b, :, h_kv].to(wide)).to(q.dtype)
    return out, lse


TEST_CASES = {
    "full": {"len_q": 128, "len_k": 256, "heads": 1, "heads_kv": 1},
    "full odd": {"len_q": 77, "len_k": 301, "heads": 1, "heads_kv": 1, "dim": 64, "dtype": torch.float16},
    "causal": {"len_q": 256, "len_k": 256, "heads": 1, "heads_kv": 1, "dim": 64, "is_causal": True},
    "causal odd": {"len_q": 150, "len_k": 277, "heads": 2, "heads_kv": 1, "dim": 64, "is_causal": True},
    "blind rows": {"len_q": 140, "len_k": 9, "heads": 1, "heads_kv": 1, "is_causal": True, "dtype": torch.float16},
    **{f"{len_q}x{len_k} {dim}": {"batch": 2, "len_q": len_q, "len_k": len_k, "heads": 6, "heads_kv": 2, "dim": dim,
                                  "is_causal": len_q % 2 == 1}
       for len_q, len_k in ((1, 1), (1000, 1000), (1023, 2111), (2111, 1023), (4097, 4097)) for dim in (64, 128)},
    "waves": {"batch": 3, "len_q": 2500, "len_k": 2500, "heads": 8, "heads_kv": 8, "is_causal": True},
    "large scores": {"len_q": 700, "len_k": 900, "spread": 6.0},
}
BENCH_CASES = {
    **{f"{length // 1024}K{' causal' if is_causal else ''}": {"len_q": length, "len_k": length, "is_causal": is_causal}
       for length in (8192, 16384, 32768) for is_causal in (False, True)},
    "16K causal, dim=64": {"len_q": 16384, "len_k": 16384, "is_causal": True, "dim": 64},
    "16K causal, heads_kv=2": {"len_q": 16384, "len_k": 16384, "is_causal": True, "heads_kv": 2},
    "8x2K causal": {"batch": 8, "len_q": 2048, "len_k": 2048, "is_causal": True},
}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">0", "UTMASTG": ">0", "USETMAXREG": ">0", "spill_bytes": 0,
                     "WARPGROUP.DEPBAR": "<=5"}}  # more: ptxas has serialised the products, see round()


def get_inputs(batch=1, len_q=1024, len_k=1024, heads=16, heads_kv=16, dim=128, is_causal=False, spread=1.0,
               dtype=torch.bfloat16, device="cuda"):
    """q, k, v, is_causal; the scores before the scale have a standard deviation of spread * dim ** 0.5."""
    q = torch.randn(batch, len_q, heads, dim, device=device) * spread
    k, v = (torch.randn(batch, len_k, heads_kv, dim, dtype=dtype, device=device) for _ in range(2))
    return [q.to(dtype), k, v, is_causal]


def flops(q, k, v, is_causal):
    (batch, len_q, heads, dim), len_k = q.shape, k.shape[1]
    rows = range(len_q)
    pairs = sum(max(0, min(len_k, i + len_k - len_q + 1)) for i in rows) if is_causal else len_q * len_k
    return 4 * batch * heads * dim * pairs


# --- Configuration ---------------------------------------------------------------------------------------------------

DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16}
ROWS = 64  # query rows of a warpgroup
TILE_N = 128  # EDIT: keys of a block; S takes TILE_N / 2 registers of a thread, P TILE_N / 4, O dim / 2
LONG, LONG_TILE_N = 16384, 160  # keys without a mask at head dimension 128, from which on wider blocks are faster
THREE_GROUPS = 0.8  # time a row of three warpgroups at head dimension 64, beside two; at 128 registers allow two
TUNING_SPACE = {"tile_n": [64, 96, 128, 160, 176, 192, 224], "groups": [2, 3]}
MOST_STAGES, SHARED_BYTES = 4, 226 * 1024  # of K and of V, as many as fit beside Q and O; the last KB is for mbarriers
SECTION_BYTES = 32 * 2**20  # of K and V that tiles share at a time, of an H200's 50 MiB of L2
LOAD_REGISTERS, MATH_REGISTERS = 24, {2: 240, 3: 160}  # by warpgroups: 24 + 2 * 240 or 24 + 3 * 160 of 512
BATON = 1  # the first of the named barriers, two per warpgroup; 0 is sync_threads
LN_2 = math.log(2.0)


def tuning_constraint(q, k, v, is_causal, tile_n, groups):
    dim = q.shape[-1]
    if groups not in MATH_REGISTERS:
        return "two or three warpgroups share K and V"
    if 3 * tile_n // 4 + dim // 2 > MATH_REGISTERS[groups] - 28:
        return "spills, and ptxas serialises the products: S, P and O need too many registers"
    return FlashAttention(dim, is_causal, tile_n, groups).stages > 1 or "one stage of K and V: nothing is loaded ahead"


# --- Device ----------------------------------------------------------------------------------------------------------


def _tma(op, x, swizzle, rows):
    """A TMA atom for boxes of `rows` rows of one head of x (batch, rows, heads, dim), and x (rows, 64, dim / 64, heads,
    batch): 64 columns are the span of the swizzle."""
    (batch, length, heads, dim), (batch_step, step, head_step, _) = x.shape, x.stride
    box = (rows, 64, dim // 64)
    layout = cute.make_layout((length, 64, dim // 64, heads, batch), stride=(step, 1, 64, head_step, batch_step))
    return cpasync.make_tiled_tma_atom(
        op, cute.make_tensor(x.iterator, layout),
        cute.make_composed_layout(swizzle, 0, cute.make_ordered_layout(box, order=(1, 0, 2))), box)


def _partition(tma, gX, sX, rows, dim, stages):
    """What `tma` copies between: (values, stage) of sX and (values, box, head, batch) of gX."""
    box, layout = (rows, 64, dim // 64), cute.make_ordered_layout((rows, 64, dim // 64, stages), order=(1, 0, 2, 3))
    sX = cute.group_modes(cute.make_tensor(sX.iterator, layout), 0, 3)
    gX = cute.group_modes(cute.local_tile(gX, box, (None, 0, 0, None, None)), 0, 3)
    return cpasync.tma_partition(tma, 0, cute.make_layout(1), sX, gX)


def _rows_of(acc):
    """A 64xN accumulator as (2 rows, N / 4 columns) of this thread, rows 8 apart."""
    return cute.make_tensor(acc.iterator, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))


def _multiply(first, mma, acc, tCrA, tCrB, stage):
    """Issue the product of A and a stage of B, its first k-block by `first`, as a group of its own."""
    for k in range(cute.size(tCrA, mode=[2])):
        cute.gemm(mma if k > 0 else first, acc, tCrA[None, None, k], tCrB[None, None, k, stage], acc)
    warpgroup.commit_group()


class FlashAttention:
    def __init__(self, dim, is_causal, tile_n, groups):
        self.dim, self.is_causal, self.tile_n, self.groups, self.rows = dim, is_causal, tile_n, groups, ROWS * groups
        self.stages = min(MOST_STAGES, (SHARED_BYTES - 4 * self.rows * dim) // (4 * tile_n * dim))

    @cute.jit
    def __call__(self, mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mO: cute.Tensor, mLse: cute.Tensor,
                 scale_log2: Float32, section: Int32, sms: Int32, stream: cuda.CUstream):
        self.dtype, row_major = mQ.element_type, LayoutEnum.ROW_MAJOR
        layout_q = sm90.make_smem_layout_a(row_major, (ROWS, self.tile_n, self.dim), self.dtype, self.groups)
        layout_k = sm90.make_smem_layout_b(row_major, (ROWS, self.tile_n, self.dim), self.dtype, self.stages)
        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        batch, length, heads, _ = mQ.shape
        tiles = cute.ceil_div(length, self.rows) * heads * batch
        self.kernel(
            _tma(load, mQ, layout_q.inner, ROWS), _tma(load, mK, layout_k.inner, self.tile_n),
            _tma(load, mV, layout_k.inner, self.tile_n), _tma(store, mO, layout_q.inner, ROWS), mLse, mK.shape[1],
            heads // mK.shape[2], section, tiles, scale_log2, layout_q, layout_k,
        ).launch(grid=(cutlass.min(tiles, sms), 1, 1), block=(128 * (1 + self.groups), 1, 1), min_blocks_per_mp=1,
                 stream=stream)

    @cute.kernel
    def kernel(self, tma_q, tma_k, tma_v, tma_o, mLse: cute.Tensor, len_k: Int32, group: Int32, section: Int32,
               tiles: Int32, scale_log2: Float32, layout_q: cute.ComposedLayout, layout_k: cute.ComposedLayout):
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        if warp_idx == 0:
            for tma, _ in (tma_q, tma_k, tma_v, tma_o):
                cpasync.prefetch_descriptor(tma)
        smem = cutlass.memory.SmemAllocator()
        sQ, sO = (smem.allocate_tensor(self.dtype, layout_q.outer, 1024, swizzle=layout_q.inner)
                  for _ in range(2))  # (ROWS, dim, groups)
        sK, sV = (smem.allocate_tensor(self.dtype, layout_k.outer, 1024, swizzle=layout_k.inner)
                  for _ in range(2))  # (tile_n, dim, stages)

        def ring(stages, rows):
            one, math = (pipeline.CooperativeGroup(pipeline.Agent.Thread, n) for n in (1, 128 * self.groups))
            return pipeline.PipelineTmaAsync.create(
                num_stages=stages, producer_group=one, consumer_group=math, tx_count=rows * self.dim * 2,
                cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)), enable_multicast_signaling=True)

        pipe_q, pipe_k, pipe_v = ring(1, self.rows), ring(self.stages, self.tile_n), ring(self.stages, self.tile_n)
        block, grid = cute.arch.block_idx()[0], cute.arch.grid_dim()[0]
        t, step = block, 2 * (grid - block) - 1  # the next round is dealt in the opposite direction
        if warp_idx < 4:
            cute.arch.setmaxregister_decrease(LOAD_REGISTERS)
            if warp_idx == 0:
                tQs, tQg = _partition(*tma_q, sQ, ROWS, self.dim, self.groups)
                tKs, tKg = _partition(*tma_k, sK, self.tile_n, self.dim, self.stages)
                tVs, tVg = _partition(*tma_v, sV, self.tile_n, self.dim, self.stages)
                at_q, at = (pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, n)
                            for n in (1, self.stages))
                while t < tiles:
                    m, h, b, blocks = self.locate(t, mLse, len_k, group, section)
                    pipe_q.producer_acquire(at_q)
                    for g in cutlass.range_constexpr(self.groups):
                        cute.copy(tma_q[0], tQg[None, m * self.groups + g, h, b], tQs[None, g],
                                  tma_bar_ptr=pipe_q.producer_get_barrier(at_q))
                    at_q.advance()
                    for n in cutlass.range(1, blocks + 1, unroll=1):
                        pipe_k.producer_acquire(at)
                        cute.copy(tma_k[0], tKg[None, blocks - n, h // group, b], tKs[None, at.index],
                                  tma_bar_ptr=pipe_k.producer_get_barrier(at))
                        pipe_v.producer_acquire(at)
                        cute.copy(tma_v[0], tVg[None, blocks - n, h // group, b], tVs[None, at.index],
                                  tma_bar_ptr=pipe_v.producer_get_barrier(at))
                        at.advance()
                    t += step
                    step = 2 * grid - step
                pipe_q.producer_tail(at_q)
                pipe_k.producer_tail(at.clone())
                pipe_v.producer_tail(at)
        else:
            cute.arch.setmaxregister_increase(MATH_REGISTERS[self.groups])
            g, thread = warp_idx // 4 - 1, cute.arch.thread_idx()[0] % 128
            mine, following = (pipeline.NamedBarrier(barrier_id=BATON + x, num_threads=256)
                               for x in (g, (g + 1) % self.groups))  # of who waits and who hands over
            together = pipeline.NamedBarrier(barrier_id=BATON + self.groups + g, num_threads=128)
            modes = (self.dtype, self.dtype, OperandMajorMode.K)
            qk, qk_first = (  # the first k-block does not add to what was there
                sm90.make_trivial_tiled_mma(*modes, OperandMajorMode.K, Float32, (1, 1, 1), (ROWS, self.tile_n))
                for _ in range(2))
            qk_first.set(warpgroup.Field.ACCUMULATE, False)
            pv = sm90.make_trivial_tiled_mma(*modes, OperandMajorMode.MN, Float32, (1, 1, 1), (ROWS, self.dim),
                                             a_source=warpgroup.OperandSource.RMEM)
            qk.set(warpgroup.Field.ACCUMULATE, True)
            pv.set(warpgroup.Field.ACCUMULATE, True)
            one, thr_pv = qk.get_slice(0), pv.get_slice(thread)
            sVt = cute.composition(sV, cute.make_ordered_layout((self.dim, self.tile_n, self.stages), order=(1, 0, 2)))
            tCrQ = qk.make_fragment_A(one.partition_A(sQ))[None, None, None, g]
            tCrK, tCrV = qk.make_fragment_B(one.partition_B(sK)), pv.make_fragment_B(pv.get_slice(0).partition_B(sVt))
            acc_s = cute.make_rmem_tensor(qk.get_slice(thread).partition_shape_C((ROWS, self.tile_n)), Float32)
            acc_o = cute.make_rmem_tensor(thr_pv.partition_shape_C((ROWS, self.dim)), Float32)
            rP = pv.make_fragment_A(pv.partition_shape_A((ROWS, self.tile_n)))
            S, O = _rows_of(acc_s), _rows_of(acc_o)
            peak, total, shrink = (cute.make_rmem_tensor(2, Float32) for _ in range(3))
            save = cute.make_tiled_copy_C(cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), self.dtype), pv)
            tO = save.get_slice(thread).partition_D(sO[None, None, g])
            tOs, tOg = _partition(*tma_o, sO, ROWS, self.dim, self.groups)

            at_q, at = (pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, n) for n in (1, self.stages))
            if g == self.groups - 1:
                following.arrive()  # the first warpgroup begins
            while t < tiles:
                m, h, b, blocks = self.locate(t, mLse, len_k, group, section)
                first_row, row = (m * self.groups + g) * ROWS, thread // 32 * 16 + thread % 32 // 4
                acc_o.fill(0.0)
                peak.fill(-1e30)
                total.fill(0.0)
                pipe_q.consumer_wait(at_q)
                pipe_k.consumer_wait(at)
                mine.arrive_and_wait()
                warpgroup.fence()
                _multiply(qk_first, qk, acc_s, tCrQ, tCrK, at.index)
                following.arrive()
                warpgroup.wait_group(0)
                pipe_k.consumer_release(at)
                self.softmax(S, peak, total, shrink, first_row, row, blocks - 1, mLse, len_k, scale_log2)
                self.round(acc_s, rP)
                for n in cutlass.range(2, blocks + 1, unroll=1):
                    ahead = at.clone()
                    ahead.advance()
                    pipe_k.consumer_wait(ahead)
                    mine.arrive_and_wait()
                    warpgroup.fence()
                    _multiply(qk_first, qk, acc_s, tCrQ, tCrK, ahead.index)
                    pipe_v.consumer_wait(at)
                    _multiply(pv, pv, acc_o, rP, tCrV, at.index)
                    following.arrive()
                    warpgroup.wait_group(1)
                    pipe_k.consumer_release(ahead)
                    self.softmax(S, peak, total, shrink, first_row, row, blocks - n, mLse, len_k, scale_log2)
                    # NOTE: a branch, seldom taken after the first blocks. Without it ptxas moves the wait up, before
                    # the exponentials of the softmax, and they no longer run beside P V.
                    if cute.arch.vote_any_sync(shrink[0] != 1.0 or shrink[1] != 1.0):
                        warpgroup.wait_group(0)
                        for r in cutlass.range_constexpr(2):
                            O[r, None].store(O[r, None].load() * shrink[r])
                    warpgroup.wait_group(0)
                    pipe_v.consumer_release(at)
                    self.round(acc_s, rP)
                    at.advance()
                pipe_q.consumer_release(at_q)
                at_q.advance()
                pipe_v.consumer_wait(at)
                warpgroup.fence()
                _multiply(pv, pv, acc_o, rP, tCrV, at.index)
                for r in cutlass.range_constexpr(2):
                    total[r] = cute.arch.warp_reduction_sum(total[r], threads_in_group=4)
                    shrink[r] = cute.arch.rcp_approx(total[r]) if total[r] > 0.0 else Float32(0.0)
                    if thread % 4 == 0 and first_row + row + 8 * r < mLse.shape[2]:
                        lse = -Float32.inf
                        if total[r] > 0.0:
                            lse = (peak[r] * scale_log2 + cute.math.log2(total[r], fastmath=True)) * LN_2
                        mLse[b, h, first_row + row + 8 * r] = lse
                warpgroup.wait_group(0)
                pipe_v.consumer_release(at)
                at.advance()
                for r in cutlass.range_constexpr(2):
                    O[r, None].store(O[r, None].load() * shrink[r])
                if warp_idx % 4 == 0:
                    cute.arch.cp_async_bulk_wait_group(0, read=True)  # the last tile's O has left the buffer
                together.arrive_and_wait()
                rounded = cute.make_rmem_tensor_like(acc_o, self.dtype)
                rounded.store(acc_o.load().to(self.dtype))
                cute.copy(save, save.retile(rounded), tO)
                cute.arch.fence_view_async_shared()
                together.arrive_and_wait()
                if warp_idx % 4 == 0:
                    cute.copy(tma_o[0], tOs[None, g], tOg[None, m * self.groups + g, h, b])
                    cute.arch.cp_async_bulk_commit_group()
                t += step
                step = 2 * grid - step
            cute.arch.cp_async_bulk_wait_group(0, read=True)

    @cute.jit
    def locate(self, t, mLse, len_k, group, section):
        """Tile t: its rows, head and sequence, and how many blocks of keys it sees, at least one. From the outside in:
        sections of KV heads, which go on from one sequence to the next, rows, query heads of the section."""
        batch, heads, len_q = mLse.shape
        rows, wide, keys = cute.ceil_div(len_q, self.rows), section * group, len_k
        first = t // (rows * wide) * wide
        wide = cutlass.min(wide, heads * batch - first)  # the last section may be smaller
        m, head = (t - first * rows) // wide, first + (t - first * rows) % wide
        if const_expr(self.is_causal):
            m = rows - 1 - m  # the longest first
            keys = cutlass.min((m + 1) * self.rows + len_k - len_q, len_k)
        return m, head % heads, head // heads, cutlass.max(cute.ceil_div(keys, self.tile_n), 1)

    @cute.jit
    def round(self, acc_s, rP):
        """P as the A operand, a k-block of 8 values at a time: rounded as a whole, P keeps the registers of S, too many
        for products in flight, and ptxas then puts a wait after every wgmma (C7512)."""
        for k in cutlass.range_constexpr(self.tile_n // 16):
            values, rounded = (cute.make_tensor(x.iterator + 8 * k, cute.make_layout(8)) for x in (acc_s, rP))
            rounded.store(values.load().to(self.dtype))

    @cute.jit
    def softmax(self, S, peak, total, shrink, first_row, row, block, mLse, len_k, scale_log2):
        """S = exp2((S - peak) * scale_log2) with the new peak, 0 where it is masked; O has to be shrunk by `shrink`."""
        seen = len_k  # keys that the first row of the warpgroup sees, the others at least as many
        if const_expr(self.is_causal):
            seen = cutlass.min(len_k, first_row + 1 + len_k - mLse.shape[2])
        if (block + 1) * self.tile_n > seen:
            for r in cutlass.range_constexpr(2):
                if const_expr(self.is_causal):
                    seen = cutlass.min(len_k, first_row + row + 8 * r + 1 + len_k - mLse.shape[2])
                left = seen - block * self.tile_n - cute.arch.lane_idx() % 4 * 2
                for c in cutlass.range_constexpr(self.tile_n // 4):
                    S[r, c] = S[r, c] if c // 2 * 8 + c % 2 < left else -Float32.inf
        for r in cutlass.range_constexpr(2):
            top = S[r, None].load().reduce(cute.ReductionOp.MAX, peak[r], 0)
            top = cute.arch.warp_reduction_max(top, threads_in_group=4)
            shrink[r] = cute.math.exp2((peak[r] - top) * scale_log2, fastmath=True)
            S[r, None].store(cute.math.exp2(S[r, None].load() * scale_log2 - top * scale_log2, fastmath=True))
            total[r] = S[r, None].load().reduce(cute.ReductionOp.ADD, total[r] * shrink[r], 0)
            peak[r] = top


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, dim, is_causal, tile_n, groups):
    """The compiled launch for one dtype and head dimension; every other extent is a run-time value."""
    batch, len_q, len_k, heads, heads_kv = (cute.sym_int() for _ in range(5))
    step = functools.partial(cute.sym_int64, divisibility=8)

    def fake(length, heads):
        return make_fake_tensor(DTYPES[dtype], (batch, length, heads, dim), stride=(step(), step(), step(), 1),
                                assumed_align=16)

    lse = make_fake_tensor(Float32, (batch, heads, len_q), stride=(cute.sym_int64(), cute.sym_int64(), 1),
                           assumed_align=4)
    compiled = cute.compile(
        FlashAttention(dim, is_causal, tile_n, groups), fake(len_q, heads), fake(len_k, heads_kv),
        fake(len_k, heads_kv), fake(len_q, heads), lse, Float32(1.0), Int32(1), Int32(1),
        make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


@functools.cache
def _multiprocessors(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


def _configuration(batch, len_q, len_k, heads, dim, is_causal, sms):
    """(tile_n, warpgroups) by what was measured on an H200: three warpgroups unless their last round is too empty."""
    if dim == 128:
        return (LONG_TILE_N if len_k >= LONG and not is_causal else TILE_N), 2
    tiles = [math.ceil(len_q / (ROWS * groups)) * heads * batch for groups in (2, 3)]
    two, three = (math.ceil(tiles[groups - 2] / sms) * groups for groups in (2, 3))  # rounds, in rows
    return TILE_N, 3 if THREE_GROUPS * three < two else 2


def _section(batch, len_k, heads_kv, dim, is_causal):
    """KV heads of all sequences that go through L2 together, sections alike in size; with a mask all: the tiles of a
    section would be of unequal length."""
    heads = batch * heads_kv
    sections = 1 if is_causal else math.ceil(heads / max(1, SECTION_BYTES // (4 * len_k * dim)))
    return math.ceil(heads / max(1, sections))


def _check(q, k, v, softmax_scale):
    """ValueError for anything that the kernel cannot take."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4 or not x.is_cuda or x.device != q.device or x.dtype != q.dtype or x.dtype not in DTYPES:
            raise ValueError(f"{name} must have rank 4 and be bfloat16 or float16 like q, on the CUDA device of q")
        if x.stride(-1) != 1 or x.data_ptr() % 16 or any(stride % 8 for stride in x.stride()[:-1]):
            raise ValueError(f"{name} must be contiguous in its last mode and lie on 16 bytes, with other strides of "
                             "multiples of 8 elements, for TMA")
    (batch, _, heads, dim), (len_k, heads_kv) = q.shape, k.shape[1:3]
    if k.shape != v.shape or k.shape != (batch, len_k, heads_kv, dim) or dim not in (64, 128):
        raise ValueError(f"q, k and v must be (batch, length, heads, 64 or 128); got {tuple(q.shape)}, "
                         f"{tuple(k.shape)} and {tuple(v.shape)}")
    if not len_k or not heads_kv or heads % heads_kv:
        raise ValueError(f"there must be keys, and heads a multiple of heads_kv; got {len_k}, {heads}, {heads_kv}")
    if not softmax_scale > 0:
        raise ValueError(f"softmax_scale must be positive; got {softmax_scale}")
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        raise ValueError("this kernel has no backward: detach its inputs or call it under torch.no_grad()")


def kernel_fn(q, k, v, is_causal=False, softmax_scale=None, *, tile_n=None, groups=None):
    """softmax(q k^T * softmax_scale) v, head by head, and the natural log of the sums of exponentials.

    q (batch, len_q, heads, dim), k and v (batch, len_k, heads_kv, dim), bfloat16 or float16 alike, any strides but the
    last in multiples of 16 bytes; query head i reads KV head i // (heads / heads_kv); softmax_scale: dim ** -0.5 by
    default. is_causal: query i sees the keys up to i + len_k - len_q. Returns out like q, contiguous, and lse (batch,
    heads, len_q) float32; a row that sees nothing is 0 and -inf. tile_n and groups (warpgroups): of TUNING_SPACE, by
    default as _configuration says. ValueError for input it cannot take.
    """
    softmax_scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    _check(q, k, v, softmax_scale)
    (batch, len_q, heads, dim), (len_k, heads_kv), sms = q.shape, k.shape[1:3], _multiprocessors(q.device)
    ours = _configuration(batch, len_q, len_k, heads, dim, is_causal, sms)
    tile_n, groups = tile_n or ours[0], groups or ours[1]
    if isinstance(why := tuning_constraint(q, k, v, is_causal, tile_n, groups), str):
        raise ValueError(f"tile_n={tile_n} with {groups} warpgroups: {why}")
    out, lse = q.new_empty(q.shape), q.new_empty(batch, heads, len_q, dtype=torch.float32)
    if out.numel():
        section = _section(batch, len_k, heads_kv, dim, is_causal)
        _launcher(q.dtype, dim, bool(is_causal), tile_n, groups)(
            q, k, v, out, lse, softmax_scale / LN_2, section, sms)
    return out, lse
