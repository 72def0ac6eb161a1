"""MLA decode for every GPU from Ampere on: a few new tokens per sequence attend to a paged latent cache.

Idea      mma.sync, ldmatrix and cp.async, which all of them have, within the 99 KB of shared memory that the smallest
          have. A CTA owns 64 query rows (token x head) and a stretch of a sequence's pages, which pass through a ring
          of 16-token tiles: each is loaded once, and read for q k^T and, transposed, for P V. Queries and outputs stay
          in registers. Between the two barriers of a tile a warp does its softmax, then the next tile's scores.

Roles     8 warps, all of them in both products, each time cut another way:
          scores   warp (half, quarter): 32 rows, and of every 64 columns of q and k the 16 of its quarter, so that its
                   share of q is 72 registers a thread; the four partial sums of a score meet in sPartial
          softmax  warp (half, quarter): 8 rows, 4 lanes to a row: sums the partials, P to sP, the rescaling to sShrink
          output   warp w: all 64 rows, columns 64 * w.. of O, which is tile w of the nine that hold the 576 columns

Shared    between two barriers                | A: tile j + 1 landed       | B: P of tile j written
          stage of tile j                     | --                         | read as v
          stage of tile j + 1                 | read as k                  | --
          stage of tile j - 1                 | refilled with j + 3        | (cp.async, zeros beyond the length)
          sPartial                            | partials of j read         | partials of j + 1 written
          sP, sShrink                         | written for j              | read for j
          All threads pass A and B together; the last to touch something before a barrier frees it for those after it.

Softmax   A row's peak moves only if a score exceeds it by more than a factor of 2^LAZY: O is seldom rescaled.

Splits    The host gives 64 rows of a sequence `splits` CTAs, from batch, rows and SM count alone. Each takes an equal
          stretch of the pages, SHORTEST at least, and nothing if the sequence is too short for that many. A single
          stretch is stored at once, else each leaves a normalised piece and its lse, merged by a second kernel.
          Scratch: at most one piece of 64 x 513 float32 per SM, 17 MB on 132 SMs, whatever the batch and the lengths.

Requires  sm_80 or newer (91 KB of shared memory); bfloat16 or float16; heads up to 128, s_q up to 4, pages of 64.
          Lengths are read on the device only: a CUDA graph may change them; none may exceed 64 * max_pages. On Hopper
          templates/mla_decode.py is the one to take. Bad input: ValueError before any launch.
Verify    python scripts/verify_kernel.py templates/mla_decode_sm80.py
Measured  H200, 128 heads (results/h200-2026-11-22-1cc80f0-kernels.json): 1.6 to 2.3 of SGLang's and vLLM's Triton code
          as they set it, 0.80 to 1.22 of the same code tuned over 54 tilings and more, when it uses WGMMA; 16 heads:
          0.63 of it tuned. On sm_80 itself: not run.
"""

import functools
import math

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

DIM, DIM_V, PAGE = 576, 512, 64  # columns of q and k, the first ones of which are v; tokens of a page


def reference_fn(q, kv_cache, block_table, cache_seqlens, softmax_scale=DIM**-0.5):
    """What kernel_fn computes, one sequence at a time in float32 (float64 for float64 inputs)."""
    batch, s_q, heads, _ = q.shape
    wide, token = torch.promote_types(q.dtype, torch.float32), torch.arange(s_q, device=q.device)[:, None]
    out, lse = q.new_zeros(batch, s_q, heads, DIM_V), q.new_full((batch, heads, s_q), -torch.inf, dtype=wide)
    for b, length in enumerate(cache_seqlens.tolist()):
        k = kv_cache[block_table[b, : -(-length // PAGE)].long()].flatten(0, 1)[:length].to(wide)
        scores = torch.einsum("thd,nd->htn", q[b].to(wide), k) * softmax_scale
        scores.masked_fill_(torch.arange(length, device=q.device) >= length - s_q + 1 + token, -torch.inf)
        lse[b] = scores.logsumexp(-1)
        weights = (scores - lse[b, :, :, None]).exp().masked_fill(lse[b, :, :, None] == -torch.inf, 0.0)
        out[b] = torch.einsum("htn,nd->thd", weights, k[:, :DIM_V])
    return out, lse


TEST_CASES = {
    "tiny": {"lengths": (130, 0, 7), "heads": 4, "s_q": 2},
    "tails": {"lengths": (1, 63, 64, 65, 15), "heads": 16},
    "split": {"lengths": (440,), "heads": 16},
    "rising": {"lengths": (70, 330), "heads": 2, "rise": 12.0},
    "fp16": {"lengths": (129, 0, 31), "heads": 17, "dtype": torch.float16},
    "not finite": {"lengths": (70, 300), "heads": 4, "is_finite": False},
    "shared pages": {"lengths": (64, 200, 140), "heads": 3, "is_shared": True},
    "s_q=3": {"lengths": (2, 150, 0, 3), "heads": 4, "s_q": 3},
    "s_q=4": {"lengths": (3, 1, 66), "heads": 17, "s_q": 4},
    "heads=1": {"lengths": (257, 33), "heads": 1},
    "heads=100": {"lengths": (190,), "heads": 100, "s_q": 2},
    "one split": {"lengths": (0,) * 130 + (70, 5, 129), "heads": 1},
    "varlen": {"lengths": (1, 63, 64, 65, 1000, 2111, 4096, 700)},
    "one long": {"lengths": (9000,)},
    "many short": {"lengths": tuple(range(150)), "heads": 16},
    "fp16 heads=96": {"lengths": (65, 1290, 2000), "heads": 96, "s_q": 4, "dtype": torch.float16},
}
BENCH_CASES = {
    **{f"{batch}x{length}": {"lengths": (length,) * batch} for batch, length in (
        (128, 4096), (128, 8192), (32, 4096), (16, 1024), (1, 32768), (1, 131072))},
    "64x16384 s_q=2": {"lengths": (16384,) * 64, "s_q": 2},
    "128x4096 heads=16": {"lengths": (4096,) * 128, "heads": 16},
    "1x131072 heads=16": {"lengths": (131072,), "heads": 16},
    "varlen": {"lengths": tuple(1 + 16383 * (37 * i % 64) // 63 for i in range(64))},
}
ARCHS = ("sm_80", "sm_90a", "sm_120a")
EXPECT = {arch: {"HMMA": ">0", "LDGSTS": ">0", "LDSM": ">0", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(lengths=(1000, 64, 333), heads=128, s_q=1, dtype=torch.bfloat16, is_shared=False, rise=0.0,
               is_finite=True, device="cuda"):
    """q, kv_cache, block_table, cache_seqlens for sequences of `lengths` tokens whose pages lie in random order.

    What must not be read is poisoned: table entries and tokens beyond a length. With `is_shared`, pages are shared;
    each page scores higher than the one before by about `rise`; unless is_finite, two heads meet infinity and NaN.
    """
    counts = [-(-length // PAGE) for length in lengths]
    q = torch.randn(len(lengths), s_q, heads, DIM, dtype=dtype, device=device)
    kv_cache = torch.randn(max(sum(counts), 1), PAGE, DIM, dtype=dtype, device=device)
    if not is_finite:
        q[:, 0, 0, 0], q[:, 0, 1, 0] = torch.inf, torch.nan
    order = torch.randint(sum(counts), (sum(counts),)) if is_shared else torch.randperm(sum(counts))
    block_table = torch.full((len(lengths), max(counts) + 3), 1 << 30, dtype=torch.int32)
    for b, (length, mine) in enumerate(zip(lengths, order.split(counts), strict=True)):
        block_table[b, : len(mine)] = mine
        if rise:
            q[b, ..., 0] = DIM**0.5
            kv_cache[mine, :, 0] += rise * torch.arange(len(mine), device=device, dtype=dtype)[:, None]
        if length % PAGE and not is_shared:
            kv_cache[mine[-1], length % PAGE :] = torch.nan
    return [q, kv_cache, block_table.to(device), torch.tensor(lengths, dtype=torch.int32, device=device)]


def flops(q, kv_cache, block_table, cache_seqlens):
    return 2 * (DIM + DIM_V) * q.shape[1] * q.shape[2] * int(cache_seqlens.sum())


def bytes_moved(q, kv_cache, block_table, cache_seqlens):
    return q.element_size() * (DIM * int(cache_seqlens.sum()) + q.numel() + q.numel() // DIM * DIM_V)


# --- Configuration ---------------------------------------------------------------------------------------------------

DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16}
ROWS, TOKENS, TILES = 64, 16, DIM // 64  # query rows of a CTA; tokens of a tile, a quarter of a page; 64-column tiles
STAGES = 4  # of 18 KB
THREADS = 256
MERGE_THREADS = DIM_V // 4
SHORTEST = 2  # EDIT: pages of the shortest stretch: a piece costs as much as about two
LAZY = 8.0  # weights are at most 2^LAZY: sums of them are far from the overflow of float16's P
LOWEST, HUGE = -1e30, 1e38  # where a peak begins; the most it may be: infinity then weighs infinity, and lse is not NaN
LN_2 = math.log(2.0)

# --- Device ----------------------------------------------------------------------------------------------------------


@cute.jit
def _stretches(length, splits):
    """Pages of a stretch of a sequence, and how many stretches it has: at least one, to store an empty one's zeros."""
    pages = cute.ceil_div(length, PAGE)
    share = cutlass.max(cute.ceil_div(pages, splits), SHORTEST)
    return share, cutlass.max(cute.ceil_div(pages, share), 1)


class MlaDecode:
    @cute.jit
    def __call__(self, mQ: cute.Tensor, mKV: cute.Tensor, mTable: cute.Tensor, mLength: cute.Tensor, mO: cute.Tensor,
                 mLse: cute.Tensor, mPiece: cute.Tensor, mPieceLse: cute.Tensor, splits: Int32, scale_log2: Float32,
                 stream: cuda.CUstream):
        self.dtype = mQ.element_type
        op = warp.MmaF16BF16Op(self.dtype, Float32, (16, 8, 16))
        tiled_mma = cute.make_tiled_mma(op, permutation_mnk=(16, 16, 16))  # of one warp; one ldmatrix feeds two of them
        batch, rows, _ = mO.shape
        self.kernel(mQ, mKV, mTable, mLength, mO, mLse, mPiece, mPieceLse, splits, scale_log2, tiled_mma).launch(
            grid=(cute.ceil_div(rows, ROWS) * batch, splits, 1), block=(THREADS, 1, 1), stream=stream,
            min_blocks_per_mp=1)
        if splits > 1:
            self.merge(mLength, mO, mLse, mPiece, mPieceLse, splits).launch(
                grid=(rows * batch, 1, 1), block=(MERGE_THREADS, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mQ: cute.Tensor, mKV: cute.Tensor, mTable: cute.Tensor, mLength: cute.Tensor, mO: cute.Tensor,
               mLse: cute.Tensor, mPiece: cute.Tensor, mPieceLse: cute.Tensor, splits: Int32, scale_log2: Float32,
               tiled_mma: cute.TiledMma):
        slot, split, _ = cute.arch.block_idx()
        blocks = cute.ceil_div(mO.shape[1], ROWS)
        first_row, b = slot % blocks * ROWS, slot // blocks
        length = mLength[b]
        share, pieces = _stretches(length, splits)
        if split < pieces:
            slot = split * cute.arch.grid_dim()[0] + slot if pieces > 1 else -1
            self.attend(mQ, mKV, mTable, mO, mLse, mPiece, mPieceLse, scale_log2, tiled_mma, first_row, b, length,
                        split * share * PAGE, share * PAGE, slot)

    @cute.jit
    def attend(self, mQ, mKV, mTable, mO, mLse, mPiece, mPieceLse, scale_log2, tiled_mma, first_row, b, length, start,
               most, slot):
        """Rows first_row.. of sequence b over at most `most` tokens from `start` on, to out or to piece `slot`."""
        lane, warp_idx = cute.arch.lane_idx(), cute.arch.make_warp_uniform(cute.arch.warp_idx())
        half, quarter = warp_idx // 4, warp_idx % 4
        rows, heads, s_q = mO.shape[1], mLse.shape[1], mLse.shape[2]
        tiles = cute.ceil_div(cutlass.min(length - start, most), TOKENS)
        smem = cutlass.memory.SmemAllocator()
        swizzle, tile = cute.make_swizzle(3, 4, 3), TOKENS * 64  # within rows of 128 bytes
        sK = smem.allocate_tensor(self.dtype, cute.make_ordered_layout(
            (TOKENS, 64, TILES, STAGES), order=(1, 0, 2, 3)), 1024, swizzle=swizzle)
        sPartial = smem.allocate_tensor(Float32, cute.make_layout((4, 32, 4, 2, 4)), 16)  # (.., lane, part, half, of)
        sP = smem.allocate_tensor(self.dtype, cute.make_layout((4, 2, 32, 4)), 16)  # (.., row half, lane, m-block)
        sShrink = smem.allocate_tensor(Float32, cute.make_layout(ROWS), 16)

        ldmatrix, transposed = (cute.make_tiled_copy_B(cute.make_copy_atom(
            warp.LdMatrix8x8x16bOp(is_v, 4), self.dtype), tiled_mma).get_slice(lane) for is_v in (False, True))
        sVt = cute.make_tensor(sK.iterator, cute.make_layout(
            (64, TOKENS, TILES, STAGES), stride=(1, 64, tile, tile * TILES)))
        tK, tV = ldmatrix.partition_S(sK), transposed.partition_S(sVt)  # (vector, N, K, tile, stage)
        rQ = tiled_mma.make_fragment_A(tiled_mma.partition_shape_A((ROWS // 2, 16 * TILES)))  # (8, 2, tile)
        rK = tiled_mma.make_fragment_B(tiled_mma.partition_shape_B((TOKENS, 16)))
        rP = tiled_mma.make_fragment_A(tiled_mma.partition_shape_A((ROWS, TOKENS)))
        rV = tiled_mma.make_fragment_B(tiled_mma.partition_shape_B((64, TOKENS)))
        thr = tiled_mma.get_slice(lane)
        acc_s = cute.make_rmem_tensor(thr.partition_shape_C((ROWS // 2, TOKENS)), Float32)
        acc_o = cute.make_rmem_tensor(thr.partition_shape_C((ROWS, 64)), Float32)
        # S (4 tokens, part): part r, row lane / 4 + 8 * r of the half, is what the warp of quarter r will sum up.
        S = cute.make_tensor(acc_s.iterator, cute.make_layout(((2, 2), (2, 2)), stride=((1, 8), (2, 4))))
        O = cute.make_tensor(acc_o.iterator, cute.make_layout(((2, 4), (2, 8)), stride=((2, 4), (1, 16))))
        rQ.fill(0)
        for r in cutlass.range_constexpr(4):
            row = first_row + half * 32 + r * 8 + lane // 4
            if row < rows:
                gQ = cute.local_tile(mQ[b, row, None], (2,), (None,))
                for k, c in ((k, c) for k in range(TILES) for c in range(2)):
                    pair = gQ[None, k * 32 + quarter * 8 + c * 4 + lane % 4]
                    cute.autovec_copy(pair, rQ[(None, r % 2, c), r // 2, k])

        page = Int32(0)
        if tiles > 0:
            page = mTable[b, start // PAGE]
        for n in cutlass.range_constexpr(STAGES - 1):
            page = self.load(mKV, mTable, sK, b, length, start, n, tiles, page)
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.barrier()
        if tiles > 0:
            self.scores(tiled_mma, ldmatrix, tK, rQ, rK, acc_s, 0)
            self.share(S, sPartial)
        my_row = half * 32 + quarter * 8 + lane // 4
        seen = length - s_q + 1 + (first_row + my_row) // heads - start - lane % 4 * 2
        peak, total = Float32(LOWEST), Float32(0.0)
        x, partial = cute.make_rmem_tensor(4, Float32), cute.make_rmem_tensor(4, Float32)
        acc_o.fill(0.0)
        for j in cutlass.range(tiles, unroll=1):
            cute.arch.cp_async_wait_group(STAGES - 3)
            cute.arch.barrier()  # A
            page = self.load(mKV, mTable, sK, b, length, start, j + STAGES - 1, tiles, page)
            x.fill(0.0)
            for of in cutlass.range_constexpr(4):
                cute.autovec_copy(sPartial[None, lane, quarter, half, of], partial)
                x.store(x.load() + partial.load())
            for i in cutlass.range_constexpr(4):
                x[i] = x[i] if j * TOKENS + i // 2 * 8 + i % 2 < seen else -Float32.inf
            top = cute.arch.warp_reduction_max(x.load().reduce(cute.ReductionOp.MAX, peak, 0), threads_in_group=4)
            top = cute.arch.fmin(top, HUGE)
            top = top if (top - peak) * scale_log2 > LAZY else peak
            shrink = cute.math.exp2((peak - top) * scale_log2, fastmath=True)
            peak = top
            x.store(cute.math.exp2(x.load() * scale_log2 - peak * scale_log2, fastmath=True))
            total = x.load().reduce(cute.ReductionOp.ADD, total * shrink, 0)
            rounded = cute.make_rmem_tensor(4, self.dtype)
            rounded.store(x.load().to(self.dtype))
            cute.autovec_copy(rounded, sP[None, quarter % 2, lane, half * 2 + quarter // 2])
            if lane % 4 == 0:
                sShrink[my_row] = shrink
            # NOTE: above the softmax these products spill; ptxas leaves them here: only other warps overlap
            self.scores(tiled_mma, ldmatrix, tK, rQ, rK, acc_s, cutlass.min(j + 1, tiles - 1) % STAGES)
            cute.arch.barrier()  # B
            self.share(S, sPartial)
            factors = cute.make_rmem_tensor(8, Float32)
            for r in cutlass.range_constexpr(8):
                factors[r] = sShrink[r * 8 + lane // 4]
            if cute.arch.vote_any_sync(factors.load().reduce(cute.ReductionOp.MIN, 1.0, 0) != 1.0):
                for r in cutlass.range_constexpr(8):
                    O[r, None].store(O[r, None].load() * factors[r])
            for r in cutlass.range_constexpr(8):
                cute.autovec_copy(sP[None, r % 2, lane, r // 2], rounded)
                for i in cutlass.range_constexpr(4):
                    rP[(i % 2, r % 2, i // 2), r // 2, 0] = rounded[i]
            cute.copy(transposed, tV[None, None, 0, warp_idx, j % STAGES], transposed.retile(rV)[None, None, 0])
            cute.gemm(tiled_mma, acc_o, rP[None, None, 0], rV[None, None, 0], acc_o)

        cute.arch.barrier()
        weight = cute.arch.warp_reduction_sum(total, threads_in_group=4)
        inverse, lse = Float32(0.0), -Float32.inf
        if weight != 0.0:
            inverse = cute.arch.rcp_approx(weight)
            lse = peak * scale_log2 + cute.math.log2(weight, fastmath=True)
        if lane % 4 == 0:
            sShrink[my_row] = inverse
            row = first_row + my_row
            if row < rows:
                if slot < 0:
                    mLse[b, row % heads, row // heads] = lse * LN_2
                else:
                    mPieceLse[slot, my_row] = lse
        cute.arch.barrier()
        for r in cutlass.range_constexpr(8):
            row = r * 8 + lane // 4
            O[r, None].store(O[r, None].load() * sShrink[row])
            if first_row + row < rows:
                if slot < 0:
                    self.store(O[r, None], mO[b, first_row + row, None])
                else:
                    self.store(O[r, None], mPiece[slot, row, None])

    @cute.jit
    def load(self, mKV, mTable, sK, b, length, start, n, tiles, page):
        """Start loading tile n, of page `page`, into its stage, zeros beyond the length, for 0 * NaN is NaN: a thread
        takes 16 bytes of every second 64 columns of a token. Returns the page of the next tile."""
        t, stage, token = cute.arch.thread_idx()[0], n % STAGES, start + n * TOKENS
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), self.dtype,
                                   num_bits_per_copy=128)
        row, vector = t // 8 % TOKENS, t % 8
        if n < tiles:
            gK = cute.local_tile(mKV[page, token % PAGE + row, None], (8,), (None,))
            for i in cutlass.range_constexpr(cute.ceil_div(TILES, 2)):
                column = 2 * i + t // 128
                if column < TILES:
                    sV = cute.local_tile(sK[row, None, column, stage], (8,), (vector,))
                    if token + row < length:
                        cute.copy(atom, gK[None, column * 8 + vector], sV)
                    else:
                        sV.fill(0)
        cute.arch.cp_async_commit_group()
        if n + 1 < tiles:
            page = mTable[b, (token + TOKENS) // PAGE]
        return page

    @cute.jit
    def scores(self, tiled_mma, ldmatrix, tK, rQ, rK, acc_s, stage):
        """This warp's part of q k^T: 32 rows, 16 tokens, a quarter of the columns."""
        quarter = cute.arch.make_warp_uniform(cute.arch.warp_idx()) % 4
        acc_s.fill(0.0)
        for k in cutlass.range_constexpr(TILES):
            cute.copy(ldmatrix, tK[None, None, quarter, k, stage], ldmatrix.retile(rK)[None, None, 0])
            cute.gemm(tiled_mma, acc_s, rQ[None, None, k], rK[None, None, 0], acc_s)

    @cute.jit
    def share(self, S, sPartial):
        """Partial scores to the warps that sum them up."""
        lane, warp_idx = cute.arch.lane_idx(), cute.arch.make_warp_uniform(cute.arch.warp_idx())
        for part in cutlass.range_constexpr(4):
            values = cute.make_rmem_tensor(4, Float32)
            for i in cutlass.range_constexpr(4):
                values[i] = S[i, part]
            cute.autovec_copy(values, sPartial[None, lane, part, warp_idx // 4, warp_idx % 4])

    @cute.jit
    def store(self, values, row):
        """This thread's pairs of its warp's 64 columns of a row."""
        pairs = cute.local_tile(row, (2,), (None,))
        for c in cutlass.range_constexpr(8):
            pair = cute.make_rmem_tensor(2, row.element_type)
            for i in cutlass.range_constexpr(2):
                pair[i] = values[2 * c + i].to(row.element_type)
            cute.autovec_copy(pair, pairs[None, cute.arch.warp_idx() * 32 + 4 * c + cute.arch.lane_idx() % 4])

    @cute.kernel
    def merge(self, mLength: cute.Tensor, mO: cute.Tensor, mLse: cute.Tensor, mPiece: cute.Tensor,
              mPieceLse: cute.Tensor, splits: Int32):
        """One row: the sum of its pieces, weighted by their sums of exponentials; a thread has 4 columns."""
        t, lane = cute.arch.thread_idx()[0], cute.arch.lane_idx()
        batch, rows, _ = mO.shape
        b, m = cute.arch.block_idx()[0] // rows, cute.arch.block_idx()[0] % rows
        blocks, heads = cute.ceil_div(rows, ROWS), mLse.shape[1]
        _, pieces = _stretches(mLength[b], splits)
        if pieces > 1:
            slot, step, row = b * blocks + m // ROWS, blocks * batch, m % ROWS
            top, total = Float32(LOWEST), Float32(0.0)
            for k in cutlass.range(lane, pieces, 32, unroll=1):
                top = cute.arch.fmax(top, mPieceLse[slot + k * step, row])
            top = cute.arch.fmin(cute.arch.warp_reduction_max(top), HUGE)
            for k in cutlass.range(lane, pieces, 32, unroll=1):
                total += cute.math.exp2(mPieceLse[slot + k * step, row] - top, fastmath=True)
            total = cute.arch.warp_reduction_sum(total)
            inverse = cute.arch.rcp_approx(total) if total != 0.0 else Float32(0.0)
            acc, piece = cute.make_rmem_tensor(4, Float32), cute.make_rmem_tensor(4, Float32)
            acc.fill(0.0)
            for k in cutlass.range(pieces, unroll=4):
                cute.autovec_copy(cute.local_tile(mPiece[slot + k * step, row, None], (4,), (t,)), piece)
                weight = cute.math.exp2(mPieceLse[slot + k * step, row] - top, fastmath=True) * inverse
                acc.store(acc.load() + weight * piece.load())
            rounded = cute.make_rmem_tensor(4, mO.element_type)
            rounded.store(acc.load().to(mO.element_type))
            cute.autovec_copy(rounded, cute.local_tile(mO[b, m, None], (4,), (t,)))
            if t == 0:
                lse = -Float32.inf
                if total != 0.0:
                    lse = top + cute.math.log2(total, fastmath=True)
                mLse[b, m % heads, m // heads] = lse * LN_2


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype):
    """The compiled launch for one dtype; every extent is a run-time value."""
    dtype = DTYPES[dtype]
    batch, rows, pages, width, heads, s_q, slots = (cute.sym_int() for _ in range(7))
    any_step, step = cute.sym_int64, functools.partial(cute.sym_int64, divisibility=8)

    def fake(element, shape, *strides, align=4):
        return make_fake_tensor(element, shape, stride=(*strides, 1), assumed_align=align)

    compiled = cute.compile(
        MlaDecode(), fake(dtype, (batch, rows, DIM), step(), step(), align=16),
        fake(dtype, (pages, PAGE, DIM), step(), step(), align=16), fake(Int32, (batch, width), any_step()),
        fake(Int32, (batch,)), fake(dtype, (batch, rows, DIM_V), step(), DIM_V, align=16),
        fake(Float32, (batch, heads, s_q), any_step(), any_step()),
        fake(Float32, (slots, ROWS, DIM_V), ROWS * DIM_V, DIM_V, align=16), fake(Float32, (slots, ROWS), ROWS),
        Int32(1), Float32(1.0), make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")
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
    if q.dtype not in DTYPES or kv_cache.dtype != q.dtype:
        raise ValueError(f"q and kv_cache must be bfloat16 or float16 alike; got {q.dtype} and {kv_cache.dtype}")
    if dim != DIM or kv_cache.shape != (max(len(kv_cache), 1), PAGE, DIM) or not (1 <= s_q <= 4 and 1 <= heads <= 128):
        raise ValueError(f"q must be (batch, 1 to 4, 1 to 128, {DIM}) and kv_cache (1 or more, {PAGE}, {DIM}); "
                         f"got {tuple(q.shape)} and {tuple(kv_cache.shape)}")
    if any(x.dtype != torch.int32 or x.shape[0] != batch for x in (block_table, cache_seqlens)):
        raise ValueError(f"block_table and cache_seqlens must be int32 with a row for each of the {batch} sequences")
    if batch * s_q * heads >= 1 << 31 or block_table.shape[1] >= 1 << 24:  # CTAs and tokens are counted in Int32
        raise ValueError(f"{batch} sequences of up to {block_table.shape[1]} pages are more than Int32 can count")
    if any(x.stride(-1) != 1 for x in tensors.values()) or (s_q > 1 and q.stride(1) != heads * q.stride(2)):
        raise ValueError("the last mode of every input must be contiguous and q's tokens dense: call .contiguous()")
    if any(x.data_ptr() % 16 or any(stride % 8 for stride in x.stride()[:-1]) for x in (q, kv_cache)):
        raise ValueError("q and kv_cache must lie on 16 bytes, with strides of multiples of 8 elements, for cp.async")
    if not softmax_scale > 0:
        raise ValueError(f"softmax_scale must be positive; got {softmax_scale}")
    if torch.is_grad_enabled() and (q.requires_grad or kv_cache.requires_grad):
        raise ValueError("this kernel has no backward: detach its inputs or call it under torch.no_grad()")


def kernel_fn(q, kv_cache, block_table, cache_seqlens, softmax_scale=DIM**-0.5):
    """Attention of s_q new tokens per sequence over a paged latent cache whose first 512 columns are the values.

    q (batch, s_q, heads, 576), kv_cache (pages, 64, 576), both bfloat16 or float16; block_table (batch, max_pages) and
    cache_seqlens (batch,) int32, lengths in tokens, the new ones among them: token t of s_q sees the first
    length - s_q + 1 + t. Returns out (batch, s_q, heads, 512) like q and the natural-log sum of exponentials lse
    (batch, heads, s_q) float32; a row that sees nothing is 0 and -inf. ValueError for input it cannot take.
    """
    _check(q, kv_cache, block_table, cache_seqlens, softmax_scale)
    batch, s_q, heads, _ = q.shape
    rows = s_q * heads
    out, lse = q.new_empty(batch, s_q, heads, DIM_V), q.new_empty(batch, heads, s_q, dtype=torch.float32)
    if batch == 0:
        return out, lse
    ctas = batch * -(-rows // ROWS)
    splits = max(_multiprocessors(q.device) // ctas, 1)
    slots = ctas * splits if splits > 1 else 0
    piece, piece_lse = (q.new_empty(slots, ROWS, *shape, dtype=torch.float32) for shape in ((DIM_V,), ()))
    _launcher(q.dtype)(q.view(batch, rows, DIM), kv_cache, block_table, cache_seqlens, out.view(batch, rows, DIM_V),
                       lse, piece, piece_lse, splits, softmax_scale / LN_2)
    return out, lse


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=2e-2, atol=2e-3)
    print("PASS")
