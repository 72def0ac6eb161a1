"""MLA decode on Hopper over an FP8 cache: a token takes 656 bytes instead of 1152 (FlashMLA's "FP8 with scale").

Idea      templates/mla_decode.py with another loader: read that first. The tensor cores still multiply bfloat16, so a
          fourth warpgroup widens what arrives, and the roles of the others stay. Only 0.57 of the bytes are read: that
          pays while bytes are the limit, at few heads.

Cache     A token, as FlashMLA documents it, pages of 64 tokens, dense:

              bytes 0-511     512 values of float8_e4m3        k = value * scale of its 128, rounded to bfloat16
              bytes 512-527   4 scales of float32              (quantize() makes powers of two as FlashMLA's test does:
              bytes 528-655   64 columns of RoPE in bfloat16   then nothing is rounded; any scale is right, though)

Roles     warps 0-3    score   16 of the 36 k-blocks of q in registers, the rest in shared memory
          warps 4-7    output  O[:, :256] in registers, and warps 8-11  O[:, 256:]
          warps 12-15  load    each has a plan of its own, a quarter of the tokens of every page and room for as many
                               as they lie in the cache, filled by bulk copies: no warp waits for another. It reloads
                               that room as soon as it has read it, for the next page

Ring      Two stages of 64 x 576, as nine tiles of 64 columns. The queries of a piece of work pass through them like a
          page, then its pages, the next queries, ..., STOP; a note beside each stage says which. Every item flips the
          four mbarriers of its stage once, in this order, and each hands the stage on:

              stage:      tiles 0-3       tiles 4-7       tile 8        scale         who may touch it
              LANDED      k | queries     k               k (rope)                    score reads
              SCORED      k, v            k, v            k                           nobody new: output takes its turn
              WEIGHTED    v               v               P             shrink        output reads, all of it
              last page   O[:, :256]      O[:, 256:]      P                           output over the v it consumed, TMA
              FREE        --              --              --            --            load writes the next item

          load -LANDED-> score -SCORED, WEIGHTED-> output -FREE-> load. LANDED counts the four load warps, and
          the bytes of queries. What threads write and wgmma or TMA read next needs fence_view_async_shared before the
          barrier.

Banks     A warp reads 16 bytes of 8 tokens at once: 656 is an odd multiple of 16, so they lie in all banks. It writes
          them into the 128-byte swizzle, 8 rows at once: all banks again. A token of no sequence becomes zero as it is
          read, for 0 * NaN is NaN in P V.

Budget    Of a page in a CTA, by arithmetic, in cycles: 2176 of the tensor cores, but 2960 of shared memory at 128 bytes
          each (1940 in the template). Widening issues about 900 instructions a warp. 512 threads cost part of it: ptxas
          refuses an instruction that needs more than 128 registers, whatever setmaxregister grants, so P V is 64 x 128
          twice and reads P twice as often, and score can keep no more than 16 k-blocks of q (18 spill).

Measured  On an H200 594 us at 128x8192, 157 at 128x4096 with 16 heads; templates/mla_decode.py on a bfloat16 cache
          takes 431 and 147 (results/h200-2026-11-22-868a73e-kernels.json): it saves memory, not time. With a cluster of
          the two CTAs of 128 heads, each widening half of the tokens for both (2630 cycles by the arithmetic above), it
          took 717 us (results/h200-2026-11-22-1cc80f0-kernels.json), so that went. Integer shifts for the conversion
          saved nothing then, and 3 % with 16 heads.

Requires  sm_90a; q in bfloat16; heads up to 128, s_q up to 4, pages of 64. Lengths are read on the device only: a CUDA
          graph may change them. A length must not exceed 64 * max_pages. A score beyond 1e7 may lose its weight to
          rounding, as in every exp2(S * c - peak * c). Bad input: ValueError before any launch.
Verify    python scripts/verify_kernel.py examples/mla_decode_fp8.py
"""

import functools
import math

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Boolean, Float32, Int32, Int64, Uint8, const_expr, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------

DIM, DIM_V, PAGE = 576, 512, 64  # columns of q and k, the first ones of which are v; tokens of a page
GROUP, SCALES, ROPE, TOKEN = 128, 512, 528, 656  # values of a scale; bytes of a token: before its scales, RoPE, in all


def dequantize(kv_cache):
    """k in bfloat16 (..., 576): a value times its scale, rounded once; the columns of RoPE as they are."""
    data = kv_cache.view(torch.uint8)
    values = data[..., :SCALES].view(torch.float8_e4m3fn).float().unflatten(-1, (-1, GROUP))
    scales = data[..., SCALES:ROPE].contiguous().view(torch.float32)
    latent = (values * scales[..., None]).flatten(-2).to(torch.bfloat16)
    return torch.cat((latent, data[..., ROPE:].contiguous().view(torch.bfloat16)), -1)


def quantize(k, is_ruled=True):
    """The inverse of dequantize: the least scales that keep the values in range, powers of two if is_ruled."""
    groups = k[..., :DIM_V].float().unflatten(-1, (-1, GROUP))
    scales = (groups.abs().amax(-1) / torch.finfo(torch.float8_e4m3fn).max).clamp_min(1e-4)
    scales = scales.log2().ceil().exp2() if is_ruled else scales
    values = (groups / scales[..., None]).to(torch.float8_e4m3fn).flatten(-2)
    parts = (values, scales, k[..., DIM_V:].to(torch.bfloat16).contiguous())
    return torch.cat([part.view(torch.uint8) for part in parts], -1)


def reference_fn(q, kv_cache, block_table, cache_seqlens, softmax_scale=DIM**-0.5):
    """What kernel_fn computes, one sequence at a time in float32 (float64 for float64 inputs)."""
    batch, s_q, heads, _ = q.shape
    wide, token = torch.promote_types(q.dtype, torch.float32), torch.arange(s_q, device=q.device)[:, None]
    out, lse = q.new_zeros(batch, s_q, heads, DIM_V), q.new_full((batch, heads, s_q), -torch.inf, dtype=wide)
    for b, length in enumerate(cache_seqlens.tolist()):
        k = dequantize(kv_cache[block_table[b, : -(-length // PAGE)].long()]).flatten(0, 1)[:length].to(wide)
        scores = torch.einsum("thd,nd->htn", q[b].to(wide), k) * softmax_scale
        scores.masked_fill_(torch.arange(length, device=q.device) >= length - s_q + 1 + token, -torch.inf)
        lse[b] = scores.logsumexp(-1)
        weights = (scores - lse[b, :, :, None]).exp().masked_fill(lse[b, :, :, None] == -torch.inf, 0.0)
        out[b] = torch.einsum("htn,nd->thd", weights, k[:, :DIM_V])
    return out, lse


TEST_CASES = {
    "tiny": {"lengths": (130, 0, 7), "heads": 4, "s_q": 2},
    "varlen": {"lengths": (1, 63, 64, 65, 1000, 2111, 4096, 700)},
    "empty": {"lengths": (0, 500, 0, 0, 64, 0)},
    "one long": {"lengths": (9000,)},
    "many short": {"lengths": tuple(range(150)), "heads": 16},
    "long parts": {"lengths": (5000, 100) * 8, "s_q": 4},
    "rising": {"lengths": (2000, 200), "rise": 3.0},
    "odd blocks": {"lengths": (65, 1290), "heads": 96, "s_q": 2},
    "one block": {"lengths": (140,), "heads": 16},
    "two blocks": {"lengths": (66,), "s_q": 2, "heads": 64},
    "any scale": {"lengths": (129, 0, 31), "heads": 8, "is_ruled": False},
    "not finite": {"lengths": (70, 300), "heads": 4, "is_finite": False},
    "shared pages": {"lengths": (640, 1000, 2000), "is_shared": True},
    **{f"s_q={s_q}": {"lengths": (0, 1, 3, 64, 66, 1500), "s_q": s_q} for s_q in (2, 3, 4)},
    **{f"heads={heads}": {"lengths": (300, 77, 1025), "heads": heads} for heads in (1, 16, 64, 100)},
}
BENCH_CASES = {
    **{f"{batch}x{length}": {"lengths": (length,) * batch} for batch, length in (
        (128, 4096), (128, 8192), (32, 4096), (16, 1024), (1, 32768), (1, 131072))},
    "64x16384 s_q=2": {"lengths": (16384,) * 64, "s_q": 2},
    "128x4096 heads=16": {"lengths": (4096,) * 128, "heads": 16},
    "1x131072 heads=16": {"lengths": (131072,), "heads": 16},
    "varlen": {"lengths": tuple(1 + 16383 * (37 * i % 64) // 63 for i in range(64))},
}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UBLKCP": ">0", "UTMASTG": ">0", "F2FP.F16.E4M3": ">0", "spill_bytes": 0,
                     "WARPGROUP.DEPBAR": "<=3"}}  # more: ptxas has serialised the products


def get_inputs(lengths=(1000, 64, 333), heads=128, s_q=1, is_shared=False, rise=0.0, is_finite=True, is_ruled=True,
               is_viewed=False, device="cuda"):
    """q, kv_cache, block_table, cache_seqlens for sequences of `lengths` tokens whose pages lie in random order.

    What must not be read is poisoned: table entries and tokens beyond a length. With `is_shared`, pages are shared;
    each page scores higher than the one before by about `rise`; unless is_finite, two heads meet infinity and NaN.
    Scales are powers of two if is_ruled; the cache is seen as bytes or, if is_viewed, as float8_e4m3fn.
    """
    counts = [-(-length // PAGE) for length in lengths]
    q = torch.randn(len(lengths), s_q, heads, DIM, dtype=torch.bfloat16, device=device)
    k = torch.randn(max(sum(counts), 1), PAGE, DIM, dtype=torch.bfloat16, device=device)
    if not is_finite:
        q[:, 0, 0, 0], q[:, 0, 1, 0] = torch.inf, torch.nan
    order = torch.randint(sum(counts), (sum(counts),)) if is_shared else torch.randperm(sum(counts))
    block_table = torch.full((len(lengths), max(counts) + 3), 1 << 30, dtype=torch.int32)
    for b, mine in enumerate(order.split(counts)):
        block_table[b, : len(mine)] = mine
        if rise:
            q[b, ..., -1] = DIM**0.5
            k[mine, :, -1] += rise * torch.arange(len(mine), device=device, dtype=k.dtype)[:, None]
    kv_cache = quantize(k, is_ruled)
    for length, mine in zip(lengths, order.split(counts), strict=True):
        if length % PAGE and not is_shared:
            kv_cache[mine[-1], length % PAGE :] = 255  # NaN, as float8, float32 and bfloat16
    if is_viewed:
        kv_cache = kv_cache.view(torch.float8_e4m3fn)
    return [q, kv_cache, block_table.to(device), torch.tensor(lengths, dtype=torch.int32, device=device)]


def flops(q, kv_cache, block_table, cache_seqlens):
    return 2 * (DIM + DIM_V) * q.shape[1] * q.shape[2] * int(cache_seqlens.sum())


def bytes_moved(q, kv_cache, block_table, cache_seqlens):
    return TOKEN * int(cache_seqlens.sum()) + q.element_size() * (q.numel() + q.numel() // DIM * DIM_V)


# --- Configuration ---------------------------------------------------------------------------------------------------

TILE_M, STAGES, TILES = 64, 2, DIM // 64  # query rows of a CTA; stages; tiles of 64 columns
BLOCKS, KEPT = DIM // 16, 16  # k-blocks of q k^T and those whose q stays in registers
THREADS, REGISTERS = 512, {"output": 160, "load": 64}  # score keeps the 128 that each thread starts with
SIGNAL = 23  # EDIT: the k-block after whose end P V may start
CHUNK, CHUNKS = 8, 2  # tokens that a warp loads at once, and how often for its quarter of a page
HIGHEST = 1024.0  # of a thread's 16 weights exp2(S - peak): far from the overflow of float16
HUGE = 1e38  # the most that a peak may be: a score of infinity then weighs infinity, and lse is not NaN
OVERHEAD = 2  # EDIT: what a piece costs beside its pages, in pages
COMBINE_WARPS, MOST_PARTS = 16, 160
LANDED, SCORED, WEIGHTED, FREE, RAW = range(0, 5 * STAGES, STAGES)  # mbarriers, one per stage; RAW: one per chunk
FLAGS, KEYS, SEQUENCE, SLOT = range(4)  # the words of a note: QUERY.., tokens from this page on, b, piece or -1
QUERY, LAST, STOP = 1, 2, 4
NEXT, START, LOW, HIGH, PAGE_NOW, PAGE_END, LENGTH, PIECE, EXTRA, COST = range(10)  # the words of the plan
LN_2 = math.log(2.0)

# --- Device ----------------------------------------------------------------------------------------------------------


def _wait(bars, kind, ring):
    cute.arch.mbarrier_wait(bars + kind + ring.index, ring.phase)


def _arrive(bars, kind, ring):
    """One arrival per warp, when all its lanes are done."""
    cute.arch.sync_warp()
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive(bars + kind + ring.index)


def _pages(length):
    """Pages of a sequence: an empty one has a page without tokens, so that somebody stores its zeros."""
    return cutlass.max(cute.ceil_div(length, PAGE), 1)


def _rows_of(acc):
    """A 64xN accumulator as (2 rows, N / 4 columns) of this thread, rows 8 apart."""
    return cute.make_tensor(acc.iterator, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))


def _tma(op, x, swizzle, tiles):
    """A TMA atom for boxes of 64 rows and `tiles` tiles of x (batch, rows, columns), and x (rows, 64, tiles, batch)."""
    (batch, rows, columns), (batch_step, row_step, _), box = x.shape, x.stride, (64, 64, tiles)
    layout = cute.make_layout((rows, 64, columns // 64, batch), stride=(row_step, 1, 64, batch_step))
    return cpasync.make_tiled_tma_atom(
        op, cute.make_tensor(x.iterator, layout),
        cute.make_composed_layout(swizzle, 0, cute.make_ordered_layout(box, order=(1, 0, 2))), box)


def _partition(tma, gX, sK, tiles, rows, tile):
    """What `tma` copies between: (values, stage) of the stages and (values, batch) of gX, at a row and column box."""
    box, layout = (64, 64, tiles), cute.make_ordered_layout((64, 64, TILES, STAGES), order=(1, 0, 2, 3))
    sX = cute.local_tile(cute.make_tensor(sK.iterator, layout), box, (0, 0, tile, None))
    gX = cute.local_tile(gX, box, (rows, 0, tile, None))
    return cpasync.tma_partition(tma, 0, cute.make_layout(1), cute.group_modes(sX, 0, 3), cute.group_modes(gX, 0, 3))


@cute.jit
def _widen(word, scale):
    """Four float8_e4m3 of a word times scale, as two words of bfloat16, each rounded once: NaN stays NaN."""
    return cute.arch.inline_ptx(
        "{ .reg .b16 a, b; .reg .b32 h, i; .reg .f16 p, q, r, s; .reg .f32 w, x, y, z; mov.b32 {a, b}, {$r0};"
        "  cvt.rn.f16x2.e4m3x2 h, a; cvt.rn.f16x2.e4m3x2 i, b; mov.b32 {p, q}, h; mov.b32 {r, s}, i;"
        "  cvt.f32.f16 w, p; cvt.f32.f16 x, q; cvt.f32.f16 y, r; cvt.f32.f16 z, s;"
        "  mul.f32 w, w, {$r1}; mul.f32 x, x, {$r1}; mul.f32 y, y, {$r1}; mul.f32 z, z, {$r1};"
        "  cvt.rn.bf16x2.f32 {$w0}, x, w; cvt.rn.bf16x2.f32 {$w1}, z, y; }",
        write_only_types=[Int32, Int32], read_only_args=[word, scale])


class MlaDecodeFp8:
    @cute.jit
    def __call__(self, mQ: cute.Tensor, mKV: cute.Tensor, mTable: cute.Tensor, mLength: cute.Tensor, mO: cute.Tensor,
                 mLse: cute.Tensor, mPieces: cute.Tensor, mPieceLse: cute.Tensor, mSplit: cute.Tensor,
                 scale_log2: Float32, stream: cuda.CUstream):
        self.dtype, row_major = mQ.element_type, LayoutEnum.ROW_MAJOR
        layout_k = sm90.make_smem_layout_b(row_major, (TILE_M, PAGE, DIM), self.dtype, STAGES)
        layout_q = sm90.make_smem_layout_a(row_major, (TILE_M, PAGE, (BLOCKS - KEPT) * 16), self.dtype, 1)
        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        self.kernel(
            *_tma(load, mQ, layout_k.inner, TILES), *_tma(store, mO, layout_k.inner, 4),
            *_tma(store, mPieces, layout_k.inner, 4), mKV, mTable, mLength, mLse, mPieceLse, mSplit,
            scale_log2, layout_k, layout_q,
        ).launch(grid=(cute.ceil_div(mO.shape[1], TILE_M), mSplit.shape[0], 1), block=(THREADS, 1, 1),
                 min_blocks_per_mp=1, stream=stream)
        splits = cutlass.min(mLength.shape[0], mSplit.shape[0])
        team = 16 if mSplit.shape[0] > 16 * splits else 4 if mSplit.shape[0] > 2 * splits else 1
        self.combine(mPieces, mPieceLse, mSplit, mO, mLse, team).launch(
            grid=(cute.ceil_div(mO.shape[1] * team, COMBINE_WARPS), splits, 1), block=(COMBINE_WARPS * 32, 1, 1),
            stream=stream, use_pdl=True)

    @cute.kernel
    def kernel(self, tma_q: cute.CopyAtom, gQ: cute.Tensor, tma_o: cute.CopyAtom, gO: cute.Tensor,
               tma_p: cute.CopyAtom, gP: cute.Tensor, mKV: cute.Tensor, mTable: cute.Tensor, mLength: cute.Tensor,
               mLse: cute.Tensor, mPieceLse: cute.Tensor, mSplit: cute.Tensor, scale_log2: Float32,
               layout_k: cute.ComposedLayout, layout_q: cute.ComposedLayout):
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        sK = smem.allocate_tensor(self.dtype, layout_k.outer, 1024, swizzle=layout_k.inner)  # (PAGE, DIM, STAGES)
        sQ = smem.allocate_tensor(self.dtype, layout_q.outer, 1024, swizzle=layout_q.inner)  # (TILE_M, 320, 1)
        sRaw = smem.allocate_tensor(Uint8, cute.make_layout((CHUNK * TOKEN, CHUNKS, 4)), 16)
        sShrink = smem.allocate_tensor(Float32, cute.make_layout((TILE_M, STAGES)), 16)
        sNote = smem.allocate_tensor(Int32, cute.make_layout((4, STAGES)), 16)
        sPlan = smem.allocate_tensor(Int32, cute.make_layout((COST + 1, 4)), 16)
        bars = smem.allocate_array(Int64, RAW + CHUNKS * 4)
        cute.arch.griddepcontrol_launch_dependents()
        if warp_idx == 12:
            for atom in (tma_q, tma_o, tma_p):
                cpasync.prefetch_descriptor(atom)
            with cute.arch.elect_one():
                for kind, warps in ((LANDED, 4), (SCORED, 4), (WEIGHTED, 4), (FREE, 8)):
                    for stage in cutlass.range_constexpr(STAGES):
                        cute.arch.mbarrier_init(bars + kind + stage, warps)
            cute.arch.mbarrier_init_fence()
        if warp_idx < 4:
            cute.arch.sync_threads()
            self.score(mLse, mPieceLse, sK, sQ, sShrink, sNote, bars, scale_log2)
        elif warp_idx >= 12:
            cute.arch.setmaxregister_decrease(REGISTERS["load"])
            tQs, tQg = _partition(tma_q, gQ, sK, TILES, cute.arch.block_idx()[0], 0)
            self.load(tma_q, tQs, tQg, mKV, mTable, mLength, mSplit, sK, sRaw[None, None, warp_idx - 12], sNote,
                      sPlan[None, warp_idx - 12], bars, warp_idx - 12)
        else:
            cute.arch.sync_threads()
            cute.arch.setmaxregister_increase(REGISTERS["output"])
            self.output(tma_o, gO, tma_p, gP, sK, sShrink, sNote, bars)

    @cute.jit
    def output(self, tma_o, gO, tma_p, gP, sK, sShrink, sNote, bars):
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        block, half = cute.arch.block_idx()[0], warp_idx // 4 - 1
        t = cute.arch.thread_idx()[0] % 128
        row = t // 32 * 16 + t % 32 // 4
        group = pipeline.NamedBarrier(barrier_id=2 + half, num_threads=128)
        pv = sm90.make_trivial_tiled_mma(self.dtype, self.dtype, OperandMajorMode.K, OperandMajorMode.MN, Float32,
                                         (1, 1, 1), tiler_mn=(TILE_M, DIM_V // 4))
        thr, one = pv.get_slice(t), pv.get_slice(0)
        sVt = cute.composition(sK, cute.make_ordered_layout((DIM, PAGE, STAGES), order=(1, 0, 2)))
        tCrV = pv.make_fragment_B(one.partition_B(cute.local_tile(sVt, (DIM_V // 2, PAGE), (half, 0, None))))
        tCrP = pv.make_fragment_A(one.partition_A(cute.local_tile(sK, (PAGE, 64), (0, TILES - 1, None))))
        acc = cute.make_rmem_tensor(thr.partition_shape_C((TILE_M, DIM_V // 2)), Float32)
        acc.fill(0.0)
        rO = _rows_of(acc)
        save = cute.make_tiled_copy_C(cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), self.dtype), pv)
        tO = save.get_slice(t).partition_D(cute.local_tile(sK, (TILE_M, DIM_V // 2), (0, half, None)))
        tOs, tOg = _partition(tma_o, gO, sK, 4, block, half)
        tPs, tPg = _partition(tma_p, gP, sK, 4, block, half)
        ring = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        _wait(bars, WEIGHTED, ring)
        flags, is_first = cute.arch.make_warp_uniform(sNote[FLAGS, ring.index]), Boolean(True)
        while flags != STOP:
            if flags != QUERY:
                shrink0, shrink1 = sShrink[row, ring.index], sShrink[row + 8, ring.index]
                if cute.arch.vote_any_sync(shrink0 != 1.0 or shrink1 != 1.0):
                    rO[0, None].store(rO[0, None].load() * shrink0)
                    rO[1, None].store(rO[1, None].load() * shrink1)
                ahead = ring.clone()
                ahead.advance()
                if flags != LAST and cute.arch.mbarrier_test_wait(bars + LANDED + ahead.index, ahead.phase):
                    _wait(bars, SCORED, ahead)
                warpgroup.fence()
                for k in cutlass.range_constexpr(PAGE // 16):
                    pv.set(warpgroup.Field.ACCUMULATE, k > 0 or not is_first)
                    cute.gemm(pv, acc, tCrP[None, None, k, ring.index], tCrV[None, None, k, ring.index], acc)
                warpgroup.commit_group()
                warpgroup.wait_group(0)
            is_first = flags == QUERY
            if flags == LAST:
                group.arrive_and_wait()  # the other warps' products have read v too
                rounded = cute.make_rmem_tensor_like(acc, self.dtype)
                rounded.store(acc.load().to(self.dtype))
                cute.copy(save, save.retile(rounded), tO[None, None, None, ring.index])
                cute.arch.fence_view_async_shared()
                group.arrive_and_wait()
                if warp_idx % 4 == 0:
                    b, slot = sNote[SEQUENCE, ring.index], sNote[SLOT, ring.index]
                    if slot < 0:
                        cute.copy(tma_o, tOs[None, ring.index], tOg[None, b])
                    else:
                        cute.copy(tma_p, tPs[None, ring.index], tPg[None, slot])
                    cute.arch.cp_async_bulk_commit_group()
                    cute.arch.cp_async_bulk_wait_group(0, read=True)
            _arrive(bars, FREE, ring)
            ring.advance()
            _wait(bars, WEIGHTED, ring)
            flags = cute.arch.make_warp_uniform(sNote[FLAGS, ring.index])

    @cute.jit
    def schedule(self, mLength, mSplit, sPlan, is_first):
        """Cut the pages of all sequences, laid on a line, into equal stretches and find where this part's begins.

        A sequence lies there with EXTRA units before its pages and takes COST at least. If it costs little, all get the
        room of the longest: then each part takes as many whole sequences, or each sequence as many whole parts.
        """
        lane, batch, parts = cute.arch.lane_idx(), mLength.shape[0], mSplit.shape[0]
        share = cute.ceil_div(batch, 32)
        begin, end = lane * share, cutlass.min(lane * share + share, batch)
        pages, longest = Int32(0), Int32(1)
        for b in cutlass.range(begin, end, unroll=4):
            pages += _pages(mLength[b])
            longest = cutlass.max(longest, _pages(mLength[b]))
        longest, pages = cute.arch.warp_reduction_max(longest), cute.arch.warp_reduction_sum(pages)
        extra, cost = Int32(OVERHEAD), Int32(0)
        size = cute.ceil_div(pages + batch * OVERHEAD, parts)
        even = cute.ceil_div(batch, parts) * (longest + OVERHEAD)
        if batch <= parts:
            even = cute.ceil_div(longest, parts // batch)
        if even * 16 <= size * 17:
            size, cost = even, longest + OVERHEAD
            if batch <= parts:
                extra, cost = Int32(0), even * (parts // batch)
        low = cute.arch.block_idx()[1] * size
        mine = Int32(0)
        for b in cutlass.range(begin, end, unroll=4):
            mine += cutlass.max(_pages(mLength[b]) + extra, cost)
        upto = mine
        for step in cutlass.range_constexpr(5):
            below = cute.arch.shuffle_sync_up(upto, 1 << step)
            upto += below if lane >= 1 << step else 0
        upto, start, before = upto - mine, Int32(0), Int32(0)
        for b in cutlass.range(begin, end, unroll=4):
            upto += cutlass.max(_pages(mLength[b]) + extra, cost)
            if upto <= low:
                start, before = upto, before + 1
        start, before = cute.arch.warp_reduction_max(start), cute.arch.warp_reduction_sum(before)
        if lane == 0:
            for word, value in zip(range(COST + 1), (before, start, low, low + size, 0, 0, 0, -1, extra, cost)):
                sPlan[word] = value
            if is_first and cute.arch.block_idx()[0] == 0:
                mSplit[cute.arch.block_idx()[1], 0] = -1
        cute.arch.sync_warp()

    @cute.jit
    def next_page(self, mTable, mLength, mSplit, sPlan, warp):
        """Advance the plan by a page: where it lies, and its note. QUERY: queries before it; STOP: there is none."""
        block, part, _ = cute.arch.block_idx()
        b, j, end, length = sPlan[NEXT], sPlan[PAGE_NOW], sPlan[PAGE_END], sPlan[LENGTH]
        start, piece, flags = sPlan[START], sPlan[PIECE], Int32(0)
        if j == end:  # on to the next sequence of which this part has pages
            low, high, extra, count = sPlan[LOW], sPlan[HIGH], sPlan[EXTRA], Int32(0)
            j, end = Int32(0), Int32(0)
            while j >= end and b < mLength.shape[0] and start < high:
                length = mLength[b]
                count = _pages(length)
                j, end = cutlass.max(low - start - extra, 0), cutlass.min(high - start - extra, count)
                start += cutlass.max(count + extra, sPlan[COST])
                b += 1
            flags, piece = QUERY if j < end else STOP, Int32(-1)
            if j > 0:
                piece = part + mSplit.shape[0]
            elif end > 0 and end < count:
                piece = part
                if block == 0 and warp == 0:
                    mSplit[part, 0], mSplit[part, 1] = b - 1, part + cute.ceil_div(count - end, high - low)
        if j + 1 == end:
            flags += LAST
        page = mTable[b - 1, j] if j < end and length > 0 else Int32(0)
        cute.arch.sync_warp()
        with cute.arch.elect_one():
            sPlan[NEXT], sPlan[PAGE_NOW], sPlan[PAGE_END] = b, j + 1, end
            sPlan[LENGTH], sPlan[START], sPlan[PIECE] = length, start, piece
        cute.arch.sync_warp()
        return page, flags, length - j * PAGE, b - 1, piece

    @cute.jit
    def fetch(self, mKV, sRaw, full, page, first, chunk: cutlass.Constexpr):
        """Have a chunk of this warp's tokens of a page brought to shared memory, as it lies in the cache."""
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full + chunk, CHUNK * TOKEN)
            gRaw = cute.local_tile(mKV[page, None], (CHUNK * TOKEN,), (first + chunk,))
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Uint8), gRaw, sRaw[None, chunk],
                      mbar_ptr=full + chunk)

    @cute.jit
    def load(self, tma_q, tQs, tQg, mKV, mTable, mLength, mSplit, sK, sRaw, sNote, sPlan, bars, warp):
        """A warp's share of every page, from the cache to the stages. Warp 0 also writes notes and loads queries."""
        token, part = cute.arch.lane_idx() % 8, cute.arch.lane_idx() // 8  # 8 tokens meet no bank twice on either side
        full, first = bars + RAW + warp * CHUNKS, warp * CHUNKS
        raw, steps = cute.recast_ptr(sRaw.iterator, dtype=Int32), (TOKEN // 4, CHUNK * TOKEN // 4)
        sValue = cute.make_tensor(raw, cute.make_layout((4, 4, DIM_V // 64, CHUNK, CHUNKS), stride=(1, 4, 16, *steps)))
        sScale = cute.make_tensor(cute.recast_ptr(raw, dtype=Float32) + SCALES // 4, cute.make_layout(
            (DIM_V // GROUP, CHUNK, CHUNKS), stride=(1, *steps)))
        sRope = cute.make_tensor(raw + ROPE // 4, cute.make_layout((4, 8, CHUNK, CHUNKS), stride=(1, 4, *steps)))
        sWide = cute.make_tensor(cute.recast_ptr(sK.iterator, cute.make_swizzle(0, 4, 3), Int32), cute.make_layout(
            (4, 8, PAGE, TILES, STAGES), stride=(1, 4, 32, 32 * PAGE, PAGE * DIM // 2)))  # swizzled by hand
        value, wide = cute.make_rmem_tensor((4, 2), Int32), cute.make_rmem_tensor((4, 2), Int32)
        scale, note = cute.make_rmem_tensor(DIM_V // GROUP, Float32), cute.make_rmem_tensor(4, Int32)
        ring, turn = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES), Int32(0)
        with cute.arch.elect_one():
            for chunk in cutlass.range_constexpr(CHUNKS):
                cute.arch.mbarrier_init(full + chunk, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.sync_warp()
        self.schedule(mLength, mSplit, sPlan, warp == 0)
        page, flags, keys, b, piece = self.next_page(mTable, mLength, mSplit, sPlan, warp)
        if flags != STOP:
            for chunk in cutlass.range_constexpr(CHUNKS):
                self.fetch(mKV, sRaw, full, page, first, chunk)
        cute.arch.sync_threads()  # from here on, a warp needs the others
        while flags != STOP:
            note[KEYS], note[SEQUENCE], note[SLOT] = keys, b, piece
            if flags & QUERY != 0:
                _wait(bars, FREE, ring)
                note[FLAGS] = QUERY
                if warp == 0:
                    with cute.arch.elect_one():
                        cute.autovec_copy(note, sNote[None, ring.index])
                        cute.arch.mbarrier_arrive_and_expect_tx(bars + LANDED + ring.index, PAGE * DIM * 2)
                    cute.copy(tma_q, tQg[None, b], tQs[None, ring.index], tma_bar_ptr=bars + LANDED + ring.index)
                else:
                    _arrive(bars, LANDED, ring)
                ring.advance()
            note[FLAGS] = flags & LAST
            page, flags, next_keys, b, piece = self.next_page(mTable, mLength, mSplit, sPlan, warp)
            _wait(bars, FREE, ring)
            for chunk in cutlass.range_constexpr(CHUNKS):
                row = (first + chunk) * CHUNK + token
                cute.arch.mbarrier_wait(full + chunk, turn)
                cute.autovec_copy(sScale[None, token, chunk], scale)
                if row >= keys:  # no token: v must be 0 there, for 0 * NaN is NaN
                    scale.fill(0.0)
                    value.fill(0)
                    for tile in cutlass.range_constexpr(DIM_V // 64):
                        cute.autovec_copy(value[None, 0], sValue[None, part, tile, token, chunk])
                    cute.arch.fence_view_async_shared()  # before the next bulk copy to the same place
                cute.autovec_copy(sValue[None, part, 0, token, chunk], value[None, 0])
                for tile in cutlass.range_constexpr(DIM_V // 64):
                    if const_expr(tile + 1 < DIM_V // 64):  # ahead of the stores, which ptxas moves no load across
                        cute.autovec_copy(sValue[None, part, tile + 1, token, chunk], value[None, (tile + 1) % 2])
                    for i in cutlass.range_constexpr(4):
                        words = _widen(value[i, tile % 2], scale[tile // 2])
                        wide[i % 2 * 2, i // 2], wide[i % 2 * 2 + 1, i // 2] = words
                    for i in cutlass.range_constexpr(2):
                        cute.autovec_copy(wide[None, i], sWide[None, (part * 2 + i) ^ token, row, tile, ring.index])
                for i in cutlass.range_constexpr(2):
                    cute.autovec_copy(sRope[None, part + 4 * i, token, chunk], value[None, i])
                for i in cutlass.range_constexpr(2):
                    cute.autovec_copy(value[None, i], sWide[None, (part + 4 * i) ^ token, row, TILES - 1, ring.index])
                cute.arch.sync_warp()
                if flags != STOP:
                    self.fetch(mKV, sRaw, full, page, first, chunk)
            cute.arch.fence_view_async_shared()
            cute.arch.sync_warp()
            with cute.arch.elect_one():
                if warp == 0:
                    cute.autovec_copy(note, sNote[None, ring.index])
                cute.arch.mbarrier_arrive(bars + LANDED + ring.index)
            ring.advance()
            keys, turn = next_keys, turn ^ 1
        _wait(bars, FREE, ring)
        note[FLAGS] = STOP
        cute.arch.sync_warp()
        with cute.arch.elect_one():
            if warp == 0:
                cute.autovec_copy(note, sNote[None, ring.index])
            cute.arch.mbarrier_arrive(bars + LANDED + ring.index)

    @cute.jit
    def score(self, mLse, mPieceLse, sK, sQ, sShrink, sNote, bars, scale_log2):
        t = cute.arch.thread_idx()[0]
        row = t // 32 * 16 + t % 32 // 4
        heads, s_q = mLse.shape[1], mLse.shape[2]
        modes = (self.dtype, self.dtype, OperandMajorMode.K, OperandMajorMode.K, Float32, (1, 1, 1))
        kept = sm90.make_trivial_tiled_mma(*modes, tiler_mn=(TILE_M, PAGE), a_source=warpgroup.OperandSource.RMEM)
        rest = sm90.make_trivial_tiled_mma(*modes, tiler_mn=(TILE_M, PAGE))
        one = rest.get_slice(0)
        rQ = kept.make_fragment_A(kept.partition_shape_A((TILE_M, KEPT * 16)))
        tCrK, tCrQ = kept.make_fragment_B(one.partition_B(sK)), rest.make_fragment_A(one.partition_A(sQ))
        acc = cute.make_rmem_tensor(kept.get_slice(t).partition_shape_C((TILE_M, PAGE)), Float32)
        S = _rows_of(acc)
        store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), self.dtype)
        load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), self.dtype), kept)
        save_q, save_p = cute.make_tiled_copy_A(store, kept), cute.make_tiled_copy_C(store, rest)
        tQ, tQs = load.get_slice(t).partition_S(sK), save_q.get_slice(t).partition_D(sQ)
        tP = save_p.get_slice(t).partition_D(cute.local_tile(sK, (PAGE, 64), (0, TILES - 1, None)))
        peak, total, shrink, sums = (cute.make_rmem_tensor(2, Float32) for _ in range(4))
        ring, is_first = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES), Boolean(True)
        _wait(bars, LANDED, ring)
        flags = cute.arch.make_warp_uniform(sNote[FLAGS, ring.index])
        while flags != STOP:
            if flags == QUERY:
                for k in cutlass.range_constexpr(KEPT):
                    cute.copy(load, tQ[None, None, k, ring.index], load.retile(rQ)[None, None, k])
                for k in cutlass.range_constexpr(BLOCKS - KEPT):
                    rK = kept.make_fragment_A(kept.partition_shape_A((TILE_M, 16)))
                    cute.copy(load, tQ[None, None, KEPT + k, ring.index], load.retile(rK)[None, None, 0])
                    cute.copy(save_q, save_q.retile(rK)[None, None, 0], tQs[None, None, k, 0])
                cute.arch.fence_view_async_shared()
                pipeline.NamedBarrier(barrier_id=1, num_threads=128).arrive_and_wait()
                _arrive(bars, SCORED, ring)
                peak.fill(-1e30)
                total.fill(0.0)
            else:
                tries = Int32(0)
                while tries < 2:
                    warpgroup.fence()
                    for k in cutlass.range_constexpr(BLOCKS):
                        if const_expr(k < KEPT):
                            kept.set(warpgroup.Field.ACCUMULATE, k > 0)
                            cute.gemm(kept, acc, rQ[None, None, k], tCrK[None, None, k, ring.index], acc)
                        else:
                            rest.set(warpgroup.Field.ACCUMULATE, True)
                            cute.gemm(rest, acc, tCrQ[None, None, k - KEPT, 0], tCrK[None, None, k, ring.index], acc)
                        if const_expr(k == SIGNAL):
                            warpgroup.commit_group()
                    warpgroup.commit_group()
                    warpgroup.wait_group(1)
                    if tries == 0:
                        _arrive(bars, SCORED, ring)
                    warpgroup.wait_group(0)
                    keys = sNote[KEYS, ring.index]
                    if keys < PAGE + s_q - 1:
                        for r in cutlass.range_constexpr(2):
                            token = (cute.arch.block_idx()[0] * TILE_M + row + 8 * r) // heads
                            seen = keys - s_q + 1 + token - t % 4 * 2
                            for c in cutlass.range_constexpr(PAGE // 4):
                                S[r, c] = S[r, c] if c // 2 * 8 + c % 2 < seen else -Float32.inf
                    shrink.fill(1.0)
                    if is_first or tries > 0:
                        for r in cutlass.range_constexpr(2):
                            top = S[r, None].load().reduce(cute.ReductionOp.MAX, peak[r], 0)
                            top = cute.arch.fmin(cute.arch.warp_reduction_max(top, threads_in_group=4), HUGE)
                            shrink[r] = cute.math.exp2((peak[r] - top) * scale_log2, fastmath=True)
                            peak[r] = top
                    for r in cutlass.range_constexpr(2):
                        S[r, None].store(
                            cute.math.exp2(S[r, None].load() * scale_log2 - peak[r] * scale_log2, fastmath=True))
                        sums[r] = S[r, None].load().reduce(cute.ReductionOp.ADD, 0.0, 0)
                    is_high = tries == 0 and (sums[0] > HIGHEST or sums[1] > HIGHEST)
                    tries = 2 - cute.arch.inline_ptx(  # a barrier of the score warps: is it too high for any of them?
                        "{ .reg .pred p; setp.ne.s32 p, {$r0}, 0; barrier.cta.red.or.pred p, 1, 128, p;"
                        "  selp.s32 {$w0}, 1, 0, p; }", write_only_types=[Int32], read_only_args=[Int32(is_high)])
                total.store(total.load() * shrink.load() + sums.load())
                if flags == LAST:  # the last shrink and P carry 1 / total
                    b, slot = sNote[SEQUENCE, ring.index], sNote[SLOT, ring.index]
                    for r in cutlass.range_constexpr(2):
                        weight = cute.arch.warp_reduction_sum(total[r], threads_in_group=4)
                        inverse, lse = Float32(0.0), -Float32.inf
                        if weight != 0.0:
                            inverse = cute.arch.rcp_approx(weight)
                            lse = peak[r] * scale_log2 + cute.math.log2(weight, fastmath=True)
                        S[r, None].store(S[r, None].load() * inverse)
                        shrink[r] = shrink[r] * inverse
                        m = cute.arch.block_idx()[0] * TILE_M + row + 8 * r
                        if t % 4 == 0 and m < heads * s_q:
                            if slot < 0:
                                mLse[b, m % heads, m // heads] = lse * LN_2
                            else:
                                mPieceLse[slot, m] = lse
                if t % 4 == 0:
                    sShrink[row, ring.index], sShrink[row + 8, ring.index] = shrink[0], shrink[1]
                rP = cute.make_rmem_tensor_like(acc, self.dtype)
                rP.store(acc.load().to(self.dtype))
                cute.copy(save_p, save_p.retile(rP), tP[None, None, None, ring.index])
                cute.arch.fence_view_async_shared()
            is_first = flags == QUERY
            _arrive(bars, WEIGHTED, ring)
            ring.advance()
            _wait(bars, LANDED, ring)
            flags = cute.arch.make_warp_uniform(sNote[FLAGS, ring.index])
        _arrive(bars, WEIGHTED, ring)

    @cute.kernel
    def combine(self, mPieces: cute.Tensor, mPieceLse: cute.Tensor, mSplit: cute.Tensor, mO: cute.Tensor,
                mLse: cute.Tensor, team: Int32):
        """Merge rows of the n-th split sequence, `team` warps to a row."""
        chunk, n, _ = cute.arch.block_idx()
        lane, warp_idx = cute.arch.lane_idx(), cute.arch.make_warp_uniform(cute.arch.warp_idx())
        parts, heads = mSplit.shape[0], mLse.shape[1]
        smem = cutlass.memory.SmemAllocator()
        sO = smem.allocate_tensor(Float32, cute.make_layout((8, 32, 2, COMBINE_WARPS)), 16)
        m, member = chunk * (COMBINE_WARPS // team) + warp_idx // team, warp_idx % team
        cute.arch.griddepcontrol_wait()
        part, before = Int32(-1), Int32(0)
        for i in cutlass.range_constexpr(MOST_PARTS // 32):
            is_split = mSplit[i * 32 + lane, 0] >= 0 if i * 32 + lane < parts else Boolean(False)
            votes = cute.arch.vote_ballot_sync(is_split)
            if is_split and before + cute.arch.popc(votes & ((1 << lane) - 1)) == n:
                part = i * 32 + lane
            before += cute.arch.popc(votes)
        part = cute.arch.warp_reduction_max(part)
        if part >= 0 and m < mO.shape[1]:
            b, pieces = mSplit[part, 0], mSplit[part, 1] - part + 1
            lses = cute.make_rmem_tensor(MOST_PARTS // 32, Float32)
            lses.fill(-Float32.inf)
            for i in cutlass.range_constexpr(MOST_PARTS // 32):
                if i * 32 + lane < pieces:
                    lses[i] = mPieceLse[part + i * 32 + lane + (parts if i * 32 + lane > 0 else 0), m]
            top = lses.load().reduce(cute.ReductionOp.MAX, -1e30, 0)
            top = cute.arch.fmin(cute.arch.warp_reduction_max(top), HUGE)
            total = cute.math.exp2(lses.load() - top, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
            total = cute.arch.warp_reduction_sum(total)
            inverse = cute.arch.rcp_approx(total) if total != 0.0 else Float32(0.0)
            acc, piece = cute.make_rmem_tensor((8, 2), Float32), cute.make_rmem_tensor((8, 2), self.dtype)
            acc.fill(0.0)
            gPieces = cute.local_tile(mPieces[None, m, None], (1, 8), (None, None))
            for k in cutlass.range(member, pieces, team, unroll=2):
                slot = part + k + (parts if k > 0 else 0)
                for c in cutlass.range_constexpr(2):
                    cute.autovec_copy(gPieces[0, None, slot, c * 32 + lane], piece[None, c])
                weight = cute.math.exp2(mPieceLse[slot, m] - top, fastmath=True) * inverse
                acc.store(acc.load() + weight * piece.load().to(Float32))
            if team > 1:
                for c in cutlass.range_constexpr(2):
                    cute.autovec_copy(acc[None, c], sO[None, lane, c, warp_idx])
                cute.arch.sync_threads()
                for w in cutlass.range(1, team if member == 0 else 1, unroll=1):
                    for c in cutlass.range_constexpr(2):
                        acc[None, c].store(acc[None, c].load() + sO[None, lane, c, warp_idx + w].load())
            if member == 0:
                for c in cutlass.range_constexpr(2):
                    rounded = cute.make_rmem_tensor(8, self.dtype)
                    rounded.store(acc[None, c].load().to(self.dtype))
                    cute.autovec_copy(rounded, cute.local_tile(mO[b, m, None], (8,), (c * 32 + lane,)))
                if lane == 0:
                    lse = top + cute.math.log2(total, fastmath=True) if total != 0.0 else -Float32.inf
                    mLse[b, m % heads, m // heads] = lse * LN_2


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher():
    """The compiled launch; every extent is a run-time value."""
    dtype = cutlass.BFloat16
    batch, rows, pages, width, heads, s_q, slots, parts = (cute.sym_int() for _ in range(8))
    any_step, step = cute.sym_int64, functools.partial(cute.sym_int64, divisibility=8)

    def fake(element, shape, *strides):
        return make_fake_tensor(element, shape, stride=(*strides, 1),
                                assumed_align=4 if element in (Float32, Int32) else 16)

    compiled = cute.compile(
        MlaDecodeFp8(), fake(dtype, (batch, rows, DIM), step(), step()),
        fake(Uint8, (pages, PAGE * TOKEN), any_step(divisibility=16)), fake(Int32, (batch, width), any_step()),
        fake(Int32, (batch,)), fake(dtype, (batch, rows, DIM_V), step(), DIM_V),
        fake(Float32, (batch, heads, s_q), any_step(), any_step()), fake(dtype, (slots, rows, DIM_V), step(), DIM_V),
        fake(Float32, (slots, rows), any_step()), fake(Int32, (parts, 2), 2), Float32(1.0),
        make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


@functools.cache
def _multiprocessors(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


def _check(q, kv_cache, block_table, cache_seqlens, softmax_scale):
    """ValueError for anything that the kernel cannot take."""
    tensors = {"q": q, "kv_cache": kv_cache, "block_table": block_table, "cache_seqlens": cache_seqlens}
    for (name, x), rank in zip(tensors.items(), (4, 3, 2, 1), strict=True):
        if not isinstance(x, torch.Tensor) or x.ndim != rank or not x.is_cuda or x.device != q.device:
            raise ValueError(f"{name} must be a tensor of rank {rank} on the CUDA device of q")
    batch, s_q, heads, dim = q.shape
    if q.dtype != torch.bfloat16 or kv_cache.dtype not in (torch.uint8, torch.float8_e4m3fn):
        raise ValueError(f"q must be bfloat16 and kv_cache uint8 or float8_e4m3fn; got {q.dtype} and {kv_cache.dtype}")
    if dim != DIM or kv_cache.shape != (max(len(kv_cache), 1), PAGE, TOKEN) or not (
            1 <= s_q <= 4 and 1 <= heads <= 128):
        raise ValueError(f"q must be (batch, 1 to 4, 1 to 128, {DIM}) and kv_cache (1 or more, {PAGE}, {TOKEN}); "
                         f"got {tuple(q.shape)} and {tuple(kv_cache.shape)}")
    if any(x.dtype != torch.int32 or x.shape[0] != batch for x in (block_table, cache_seqlens)):
        raise ValueError(f"block_table and cache_seqlens must be int32 with a row for each of the {batch} sequences")
    if 17 * batch * (block_table.shape[1] + OVERHEAD + 1) >= 1 << 31:  # the largest number that schedule() forms
        raise ValueError(f"{batch} sequences of up to {block_table.shape[1]} pages are more than Int32 can count")
    if any(x.stride(-1) != 1 for x in tensors.values()) or (s_q > 1 and q.stride(1) != heads * q.stride(2)):
        raise ValueError("the last mode of every input must be contiguous and q's tokens dense: call .contiguous()")
    if kv_cache.stride(1) != TOKEN or kv_cache.stride(0) % 16 or kv_cache.data_ptr() % 16:
        raise ValueError("the tokens of a page of kv_cache must be dense and pages lie on 16 bytes, for bulk copies")
    if q.data_ptr() % 16 or any(stride % 8 for stride in q.stride()[:-1]):
        raise ValueError("q must lie on 16 bytes, with strides of multiples of 8 elements, for TMA")
    if not softmax_scale > 0:
        raise ValueError(f"softmax_scale must be positive; got {softmax_scale}")
    if torch.is_grad_enabled() and q.requires_grad:
        raise ValueError("this kernel has no backward: detach q or call it under torch.no_grad()")


def kernel_fn(q, kv_cache, block_table, cache_seqlens, softmax_scale=DIM**-0.5):
    """Attention of s_q new tokens per sequence over a paged FP8 latent cache whose first 512 columns are the values.

    q (batch, s_q, heads, 576) bfloat16; kv_cache (pages, 64, 656) uint8 or float8_e4m3fn, bytes as quantize() makes
    them; block_table (batch, max_pages) and cache_seqlens (batch,) int32, lengths in tokens, the new ones among them:
    token t of s_q sees the first length - s_q + 1 + t. Returns out (batch, s_q, heads, 512) like q and the natural-log
    sum of exponentials lse (batch, heads, s_q) float32; a row that sees nothing is 0 and -inf. ValueError for input it
    cannot take.
    """
    _check(q, kv_cache, block_table, cache_seqlens, softmax_scale)
    batch, s_q, heads, _ = q.shape
    rows = s_q * heads
    out, lse = q.new_empty(batch, s_q, heads, DIM_V), q.new_empty(batch, heads, s_q, dtype=torch.float32)
    if batch == 0:
        return out, lse
    parts = min(max(_multiprocessors(q.device) // -(-rows // TILE_M), 1), MOST_PARTS)
    pieces, piece_lse = q.new_empty(2 * parts, rows, DIM_V), q.new_empty(2 * parts, rows, dtype=torch.float32)
    split = q.new_empty(parts, 2, dtype=torch.int32)
    _launcher()(
        q.view(batch, rows, DIM), kv_cache.view(torch.uint8).flatten(1), block_table, cache_seqlens,
        out.view(batch, rows, DIM_V), lse, pieces, piece_lse, split, softmax_scale / LN_2)
    return out, lse


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=2e-2, atol=2e-3)
    print("PASS")
