"""Gate and up projections of a gated MLP, D = silu(s * (A @ Wg^T)) * (s * (A @ Wu^T)) + R, in one pass on Hopper.

Idea      templates/gemm_sm90.py with two weight tensors in place of one interleaved: a stage of the ring takes a tile
          of Wg and one of Wu, one below the other, so WGMMA sees one operand of twice the rows, and a thread holds gate
          and up of the same element, half of its accumulators apart. Nothing is copied or interleaved beforehand, and
          neither product goes through memory. With few rows of A the operands swap, D^T = W @ A^T, and a warpgroup
          multiplies two blocks of 64 rows, one of Wg and one of Wu. examples/gemm_swiglu.py is shorter, and
          wants the rows of both weights in turns.
Layout    A (M, K), Wg and Wu (N, K), which may be the halves of one tensor, s (M,) float32, the scales of the tokens, R
          and D (M, N). Persistent CTAs; one warp loads by TMA, the others
          multiply, scale, and store D from registers through shared memory by TMA.
Requires  sm_90a. bfloat16 or float16; float32 accumulation. M >= 0, N % 8 == 0, K % 8 == 0, K > 0; A, Wg and Wu with
          contiguous rows at multiples of 16 bytes (others are copied, with a warning), s and R of any strides.
          No backward. Results repeat bitwise.
Verify    python scripts/verify_kernel.py examples/gemm_gate_up.py (without a GPU at level full: the tiles that do not
          swap run on a GPU of 8 multiprocessors)
Measured  H200: 1304 us, 738 TFLOP/s, at M x N x K of 4096 x 14336 x 4096; no peer in bfloat16 was beside it
          (results/h200-2026-11-25-83ef286-kernels.json)
"""

import functools
import math
import warnings
from typing import NamedTuple

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64, const_expr, pipeline
from cutlass.block import block_copy
from cutlass.cute.nvgpu import cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------

def reference_fn(a, wg, wu, s, r=None):
    wide = torch.promote_types(a.dtype, torch.float32)
    x, scale = a.to(wide), s.to(wide)[:, None]
    result = torch.nn.functional.silu(x @ wg.to(wide).mT * scale) * (x @ wu.to(wide).mT * scale)
    return (result if r is None else result + r.to(wide)).to(a.dtype)


def get_inputs(m=200, n=264, k=328, residual=True, dtype=torch.bfloat16, device="cuda"):
    """A (m, k), Wg and Wu (n, k), scaled so that the products are of order one, s (m,), R (m, n) or None."""
    random = lambda *shape: torch.randn(shape, dtype=dtype, device=device)
    wg, wu = (random(2 * n, k) * k**-0.5).chunk(2)
    s = torch.rand(m, dtype=torch.float32, device=device) + 0.5
    return [random(m, k), wg, wu, s, random(m, n) if residual else None]


TEST_CASES = {
    "tails": {"m": 257, "n": 200, "k": 264},
    "one_row": {"m": 1, "n": 136, "k": 520},
    "few_rows": {"m": 33, "n": 264, "k": 328, "dtype": torch.float16},
    "no_residual": {"m": 100, "n": 72, "k": 200, "residual": False},
    "half_no_residual": {"m": 130, "n": 8, "k": 8, "residual": False, "dtype": torch.float16},
    "many_rows": {"m": 1000, "n": 40, "k": 72},
    "empty": {"m": 0, "n": 264, "k": 72},
    "large": {"m": 515, "n": 1608, "k": 1096},
}
BENCH_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in (
    (4096, 14336, 4096), (4096, 8192, 4096), (512, 14336, 4096), (64, 14336, 4096), (8, 14336, 4096), (1, 14336, 4096),
    (8192, 1408, 2048))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">0", "spill_bytes": 0}}


def flops(a, wg, *_):
    return 4 * a.numel() * wg.shape[0]


# --- Configuration ---------------------------------------------------------------------------------------------------

DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16, torch.float32: cutlass.Float32}


class Config(NamedTuple):
    """tile: (M, N) of the product in a CTA, gate and up together: A's rows by twice D's columns, M 64, 128, 192 or 256;
    with swap twice D's columns by A's rows, M 128 or 256. cluster: CTAs along (M, N) that share loads; split: CTAs that
    share the K of a tile (one of the two is trivial). ctas: per SM."""

    tile: tuple[int, int]
    cluster: tuple[int, int] = (1, 1)
    split: int = 1
    ctas: int = 1
    swap: bool = False


CONFIGS = (  # of equal estimates the first is taken
    *(Config((64, n)) for n in (64, 96, 128, 160, 192, 224, 256)),
    *(Config((128, n), split=split, swap=True)  # what is not here spills
      for n, split in (*((n, s) for n in (64, 96) for s in (1, 2, 4)), (128, 1), (160, 1))),
    *(Config((128, n), split=split, ctas=2, swap=True)
      for n, split in (*((n, s) for n in (16, 32) for s in (1, 2, 4)), (48, 1))),
    Config((128, 224)), Config((192, 96)),
    *(Config(tile, (2, 1)) for tile in ((64, 96), (64, 128), (128, 128), (128, 192), (128, 256))),
    *(Config(tile, (1, 2)) for tile in ((192, 128), (256, 192))),
)
TUNING_SPACE = {"config": CONFIGS}


def estimate_us(config, m, n, batch, k_tiles, sms, straddles=False):
    """The rule that picks a configuration: waves of CTAs at the rate of the tensor cores or of shared memory, and bytes
    at that of DRAM, plus what launch, epilogue and exchange cost. straddles: rows of a K tile lie across two lines of
    128 bytes; a cluster reads them once. The constants were fitted to the order of 305 configurations on an H200."""
    (bM, bN), (cM, cN), split, ctas, swap = config
    m, n = (n, m) if swap else (m, n)
    tiles, size = max(1, -(-m // (bM * cM)) * -(-n // (bN * cN)) * batch), cM * cN * split
    slots = max(1, sms * ctas // size if size <= 2 else sms * ctas * 5 // (size * 6))  # 4 do not fill a GPC
    waves = -(-tiles // slots)
    crowding = ctas if tiles * size > sms else 1
    fill = 1.09 * (bM + bN) + 0.97 * straddles * (bM / cN + bN / cM)
    compute = waves * -(-k_tiles // split) * (max(0.026 * bM * bN, fill) + 120) * crowding / 1755
    dram = (m + n) * batch * k_tiles * 128 / 6.6e6
    return 0.9 + math.hypot(compute, dram) + waves * bM * bN / 6000 + 2.15 * (split > 1)


# --- Device ----------------------------------------------------------------------------------------------------------

def epilogue(gate, up, scale, *residual):
    """silu(gate * scale) * (up * scale), plus the residual if there is one. Float32, traced for every element."""
    gate, up = gate * scale, up * scale
    value = gate * cute.math.rcp(1.0 + cute.math.exp(-gate, fastmath=True), approx=True) * up
    return value + residual[0] if const_expr(len(residual) > 0) else value


class Gemm:
    """D[M, N, L] = epilogue(A[M, K, L] @ B[N, K, L]^T, A[M, K, L] @ U[N, K, L]^T, extras[M, N, L]); with swap U is A's
    partner, not B's. Of the product's tile, (bM, bN), D has (dM, dN): half of its columns, with swap of its rows."""

    def __init__(self, config):
        self.tile, self.cluster, self.split, self.ctas, self.swap = config
        bM, bN = self.tile
        self.boxes = (bM // 2, bN) if self.swap else (bM, bN // 2)
        assert self.cluster == (1, 1) or self.split == 1, "a cluster shares loads or K, not both"
        # warpgroups; each takes 64 rows at a time, with swap 64 of gate and 64 of up
        self.consumers = bM // 128 if self.swap else {64: 1, 128: 2, 192: 3, 256: 2}[bM]
        assert (self.boxes[0] % 64, self.boxes[1] % 16) == (0, 0), "a tile of D has 64 i rows and 16 j columns"
        self.threads = 128 * self.consumers

    @cute.jit
    def __call__(self, clusters: Int32, stream, mA, mB, mU, mD, *extras):
        (bM, bN), (dM, dN), dtype = self.tile, self.boxes, mA.element_type
        self.dtype, self.out_dtype, self.bK = dtype, mD.element_type, 128 * 8 // dtype.width
        major_a, major_b, major_d = (LayoutEnum.from_tensor(mX) for mX in (mA, mB, mD))
        self.is_transposed = major_d.is_m_major_c()
        modes = (major_a.sm90_mma_major_mode(), major_b.sm90_mma_major_mode())
        tiled_mma = sm90.make_trivial_tiled_mma(dtype, dtype, *modes, Float32, (self.consumers, 1, 1), (64, bN))
        # The addresses of strided extras take registers.
        is_strided = not all(self.repeats(mE) or cute.is_static(mE.stride[1]) for mE in extras)
        eN = 16 if self.split > 1 or is_strided or dN % 32 else 32
        self.epi, self.box = (64 * self.consumers, eN), (16, eN)  # what all consumers, and one warp, store at a time
        self.subtiles = dM * dN // math.prod(self.epi)
        self.share = -(-self.subtiles // self.split)  # sub-tiles that a CTA finishes
        self.sums = self.share * math.prod(self.epi) * 2 // self.threads  # accumulators of a thread in them
        epi_bytes = 2 * self.epi[0] * eN * self.out_dtype.width // 8
        epi_bytes += (16 + 4 * self.split * self.sums * self.threads) * (self.split > 1)  # 16: arrived, padded
        self.stages = min(12, (228 * 1024 // self.ctas - 2048 - epi_bytes) // ((bM + bN) * 128))
        assert self.stages >= 2, "the tile is too large: two stages must fit in shared memory"
        sA = sm90.make_smem_layout_a(major_a, (bM, bN, self.bK), dtype, self.stages)
        sB = sm90.make_smem_layout_b(major_b, (bM, bN, self.bK), dtype, self.stages)
        # The 16 rows of a warp lie together: it stores them by itself, without a barrier.
        sD = sm90.make_smem_layout_epi(self.out_dtype, major_d, self.box, 2, smem_trg_shape=(*self.epi, 2))
        sBox = sm90.make_smem_layout_epi(self.out_dtype, major_d, self.box, 1)

        def tma(op, mX, smem, box):  # (copy atom, tensor of coordinates)
            return tuple(cpasync.make_tiled_tma_atom(op, mX, cute.slice_(smem, (None, None, 0)), box))

        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        boxA = sm90.make_smem_layout_a(major_a, (dM, dN, self.bK), dtype, 1)
        boxB = sm90.make_smem_layout_b(major_b, (dM, dN, self.bK), dtype, 1)
        tma_a, tma_b = tma(load, mA, boxA, (dM, self.bK)), tma(load, mB, boxB, (dN, self.bK))
        tma_u = tma(load, mU, boxA, (dM, self.bK)) if const_expr(self.swap) else tma(load, mU, boxB, (dN, self.bK))
        tma_d = tma(store, mD, sBox, self.box)
        self.kernel(tiled_mma, tma_a, tma_b, tma_u, tma_d, extras, sA, sB, sD).launch(
            grid=(*self.cluster, clusters * self.split), block=(128 + self.threads, 1, 1), stream=stream,
            # NOTE: a cluster of one CTA, when asked for, cost up to 30 %: SMs idled while others held two.
            cluster=None if self.cluster == (1, 1) and self.split == 1 else (*self.cluster, self.split),
            # NOTE: setmaxregister counts for nothing without min_blocks_per_mp.
            min_blocks_per_mp=self.ctas, preferred_smem_carveout=100,
        )

    def locate(self, t, tiles, extents):
        """(m, n, batch, back) of this CTA in the t-th of `tiles` of clusters: bands of BAND along M, so that the CTAs
        that run together form a rectangle, which shares its rows and columns in L2. back: how many rows of A and B the
        tile starts before its place so as to end inside: to have TMA fill rows with zeros takes longer than to read
        them. What the tile before has as well is not stored again."""
        BAND, (x, y, _), (tiles_m, tiles_n) = 8, cute.arch.block_idx(), tiles
        batch, t = t // (tiles_m * tiles_n), t % (tiles_m * tiles_n)
        first, t = t // (BAND * tiles_n) * BAND, t % (BAND * tiles_n)
        height = cutlass.min(tiles_m - first, BAND)
        place = (first + t % height) * self.cluster[0] + x, t // height * self.cluster[1] + y
        back = []
        for at, size, extent, unit in zip(place, self.boxes, extents, (16, self.epi[1])):
            outside = cutlass.min(cutlass.max((at + 1) * size - extent, 0), at * size)
            back.append(cute.assume(outside // unit * unit, divby=unit))
        return *place, batch, back

    @cute.kernel
    def kernel(self, tiled_mma, tma_a, tma_b, tma_u, tma_d, extras, sA_layout, sB_layout, sD_layout):
        (bM, bN), (dM, dN), (cM, cN), bK, (eM, eN) = self.tile, self.boxes, self.cluster, self.bK, self.epi
        (copy_a, mA), (copy_b, mB), (copy_u, mU), (copy_d, mD) = tma_a, tma_b, tma_u, tma_d
        thread, _, _ = cute.arch.thread_idx()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        if warp_idx == 0:
            for copy, _ in (tma_a, tma_b, tma_u, tma_d):
                cpasync.prefetch_descriptor(copy)

        smem = cutlass.memory.SmemAllocator()
        tensor = lambda dtype, layout: smem.allocate_tensor(dtype, layout.outer, 1024, swizzle=layout.inner)
        sA, sB = tensor(self.dtype, sA_layout), tensor(self.dtype, sB_layout)  # (bM, bK, stages), (bN, bK, stages)
        sD = tensor(self.out_dtype, sD_layout)
        z = cute.arch.block_idx()[2]
        rank = z % self.split
        if const_expr(self.split > 1):
            # (4, sums / 4, threads, split): what the CTAs of the cluster have of this CTA's share
            parts = cute.make_ordered_layout((4, self.sums // 4, self.threads, self.split), order=(0, 2, 1, 3))
            sP, arrived = smem.allocate_tensor(Float32, parts, 16), smem.allocate_array(Int64, 1)
            if warp_idx == 0 and cute.arch.lane_idx() == 0:
                mine = cutlass.max(0, cutlass.min(self.share, self.subtiles - rank * self.share))
                cute.arch.mbarrier_init(arrived, 1)
                cute.arch.mbarrier_init_fence()
                cute.arch.mbarrier_arrive_and_expect_tx(arrived, cute.size(sP) // self.share * 4 * mine)
            cute.arch.cluster_arrive_relaxed()

        agents = [pipeline.CooperativeGroup(pipeline.Agent.Thread, threads) for threads in (1, self.threads)]
        producer, consumer = pipeline.PipelineTmaAsync.create(
            num_stages=self.stages, producer_group=agents[0], consumer_group=agents[1], tx_count=(bM + bN) * 128,
            cta_layout_vmnk=cute.make_layout((1, cM, cN, 1)), enable_multicast_signaling=True,
        ).make_participants()

        extents = mA.shape[0], mB.shape[0]
        tiles_mn = cute.ceil_div(extents[0], dM * cM), cute.ceil_div(extents[1], dN * cN)
        tiles, k_tiles = tiles_mn[0] * tiles_mn[1] * mA.shape[2], cute.ceil_div(mA.shape[1], bK)
        depth = cute.arch.grid_dim()[2]
        first, step = z // self.split, depth // self.split
        k_first, k_last = k_tiles * rank // self.split, k_tiles * (rank + 1) // self.split

        if warp_idx < 4:
            if const_expr(self.consumers == 2 and self.ctas == 1):
                cute.arch.setmaxregister_decrease(24)
            if warp_idx == 0:
                # What each copy fills: A or B whole, and of the other operand the first half; U the second half.
                half = lambda sX, box, i: cute.local_tile(sX, (box, bK, self.stages), (i, 0, 0))
                sA_0, sB_0 = half(sA, dM, 0), half(sB, dN, 0)
                sU = half(sA, dM, 1) if const_expr(self.swap) else half(sB, dN, 1)
                side, box_u = const_expr(0 if self.swap else 1), const_expr(dM if self.swap else dN)
                for t in cutlass.range(first, tiles, step, unroll=1):
                    m, n, batch, back = self.locate(t, tiles_mn, extents)
                    gA, gB, gU = (  # (rows, bK, tiles of K)
                        cute.local_tile(cute.domain_offset((-b, 0), mX[None, None, batch]), (box, bK), (at, None))
                        for b, mX, box, at in ((back[0], mA, dM, m), (back[1], mB, dN, n),
                                               (back[side], mU, box_u, (m, n)[side])))
                    for k in cutlass.range(k_first, k_last, unroll=1):
                        stage = producer.acquire_and_advance()
                        for copy, gX, sX, along in ((copy_a, gA, sA_0, "M"), (copy_b, gB, sB_0, "N"),
                                                    (copy_u, gU, sU, "MN"[side])):
                            block_copy(copy, cute.group_modes(gX, 0, 2)[None, k],
                                       cute.group_modes(sX, 0, 2)[None, stage.index], tma_bar_ptr=stage.barrier,
                                       tma_multicast={"cluster_shape": self.cluster, "multicast_dim": along})
                producer.tail()
            if const_expr(self.split > 1):
                cute.arch.cluster_wait()
        else:
            if const_expr(self.consumers == 2 and self.ctas == 1):
                cute.arch.setmaxregister_increase(240)
            thread -= 128
            warpgroups = cute.make_layout(self.consumers, stride=128)
            thr_mma = tiled_mma.get_slice(warpgroups(cute.arch.make_warp_uniform(thread // 128)))
            tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))  # (MMA, M, K, stages)
            tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB))  # (MMA, N, K, stages)
            acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((bM, bN)), Float32)
            # The same accumulators, four of gate and four of up in turns, so that those of a sub-tile lie together.
            blocks = const_expr(dM // eM)
            half = const_expr(cute.size(acc) // (2 * blocks))
            turns = cute.make_layout((4, 2, half // 4, blocks), stride=(1, half, 4, 2 * half))
            pairs = cute.make_tensor(acc.iterator, turns)
            store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(self.is_transposed, 4), self.out_dtype)
            r2s = cute.make_tiled_copy_S(store, cute.make_tiled_copy_C_atom(store, tiled_mma)).get_slice(thread)
            tDcD = r2s.partition_S(cute.make_identity_tensor(self.epi))  # this thread's (m, n) in a sub-tile
            values, subtiles_n = const_expr(cute.size(tDcD)), const_expr(dN // eN)

            for t in cutlass.range(first, tiles, step, unroll=1):
                m, n, batch, back = self.locate(t, tiles_mn, extents)
                held = [self.prefetch(mE, m, n, back, batch, rank, thread, tDcD) for mE in extras]
                behind = consumer.clone()
                tiled_mma.set(warpgroup.Field.ACCUMULATE, False)
                for k in cutlass.range(k_first, k_last, unroll=1):
                    stage = consumer.wait_and_advance()
                    warpgroup.fence()
                    for block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
                        at = (None, None, block, stage.index)
                        cute.gemm(tiled_mma, acc, tCrA[at], tCrB[at], acc)
                        tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
                    warpgroup.commit_group()
                    warpgroup.wait_group(1)  # the products of the previous stage are done, so it can be loaded again
                    if k > k_first:
                        behind.release()
                        behind.advance()
                warpgroup.wait_group(0)
                behind.release()

                sums = pairs if const_expr(self.split == 1) else self.exchange(pairs, sP, arrived, rank, thread)
                for e in cutlass.range_constexpr(self.share):
                    sub = rank * self.share + e
                    if const_expr(self.split == 1) or sub < self.subtiles:
                        crd = (m * (dM // eM) + sub // subtiles_n, n * subtiles_n + sub % subtiles_n)
                        rEs = [self.load(mE, crd, back, batch, r2s, tDcD) if const_expr(rH is None)
                               else self.hand_out(mE, rH, e, thread, tDcD) for mE, rH in zip(extras, held, strict=True)]
                        rD = cute.make_rmem_tensor(tDcD.shape, Float32)
                        for v in cutlass.range_constexpr(values):
                            at = (e * values + v) // 4 * 8 + v % 4
                            rD[v] = epilogue(sums[at], sums[at + 4], *(rE[v].to(Float32) for rE in rEs))
                        # Two buffers take turns; after an odd number of sub-tiles the next tile starts on the last one.
                        cute.arch.cp_async_bulk_wait_group(1 if e > 0 or self.share % 2 == 0 else 0, read=True)
                        cute.arch.sync_warp()
                        rO = cute.make_rmem_tensor(tDcD.shape, self.out_dtype)
                        rO.store(rD.load().to(self.out_dtype))
                        cute.copy(r2s, rO, r2s.partition_D(sD)[None, None, None, e % 2])
                        cute.arch.fence_view_async_shared()
                        cute.arch.sync_warp()
                        box = (crd[0] * (eM // 16) + warp_idx - 4, crd[1])
                        if box[0] * 16 >= m * dM + back[0] and box[1] * eN >= n * dN + back[1]:
                            sBox = cute.local_tile(sD[None, None, e % 2], self.box, (warp_idx - 4, 0))
                            mD_l = cute.domain_offset((-back[0], -back[1]), mD[None, None, batch])
                            gBox = cute.local_tile(mD_l, self.box, box)
                            block_copy(copy_d, cute.group_modes(sBox, 0, 2), cute.group_modes(gBox, 0, 2))
                        cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)

    @cute.jit
    def exchange(self, acc, sP, arrived, rank, thread):
        """The accumulators of this CTA's share of the sub-tiles, summed over the cluster in the order of the ranks."""
        cute.arch.cluster_wait()  # until every CTA has its barrier
        for at in cutlass.range_constexpr(0, cute.size(acc), 4):
            owner, i = const_expr(at // self.sums), const_expr(at % self.sums // 4)
            words = tuple(acc[at + j].bitcast(Int32) for j in range(4))
            cute.arch.store_async_dsmem(sP[None, i, thread, rank].iterator, words, arrived, owner)
        cute.arch.mbarrier_wait(arrived, 0)
        sums, part = cute.make_rmem_tensor(self.sums, Float32), cute.make_rmem_tensor(self.sums, Float32)
        sums.fill(0.0)
        for peer in cutlass.range_constexpr(self.split):
            for i in cutlass.range_constexpr(self.sums // 4):
                if rank * self.sums + 4 * i < cute.size(acc):
                    cute.autovec_copy(sP[None, i, thread, peer], cute.make_tensor(part.iterator + 4 * i, 4))
            sums.store(sums.load() + part.load())
        return sums

    def repeats(self, mE):
        """Whether a tile takes so few values of mE that they are loaded before the main loop, which hides it."""
        is_same = any(cute.is_static(stride) and stride == 0 for stride in mE.stride[:2])
        return is_same and (self.split == 1 or self.boxes[0] == 64 * self.consumers)  # else rank decides on the rows

    def prefetch(self, mE, m, n, back, batch, rank, thread, tDcD):
        """What this thread keeps of an mE that repeats, else None: along N the values of its rows, (2, blocks of rows);
        along M two of every 64 columns that the CTA finishes, (2, columns / 64), spread over the lanes of a warp.
        Indices stop at the edge: what lies beyond is not stored."""
        (dM, dN), (eM, eN) = self.boxes, self.epi
        if not self.repeats(mE):
            return None
        mode = 0 if cute.is_static(mE.stride[1]) and mE.stride[1] == 0 else 1
        if mode == 0:
            start, steps, blocks = m * dM - back[0], (tDcD[0][0], tDcD[2][0]), (eM, dM // eM)
        else:
            lane, columns = thread % 32, min(self.share * eN, dN)
            start, steps, blocks = n * dN - back[1], (2 * lane, 2 * lane + 1), (64, -(-columns // 64))
            start += rank * columns if self.split > 1 else 0
        held = cute.make_rmem_tensor((2, blocks[1]), mE.element_type)
        for i, step in enumerate(steps):
            for block in range(blocks[1]):
                at = cutlass.min(start + block * blocks[0] + step, mE.shape[mode] - 1)
                held[i, block] = mE[(at, 0, batch) if mode == 0 else (0, at, batch)]
        return held

    def hand_out(self, mE, held, e, thread, tDcD):
        """What `load` returns for the e-th sub-tile of this CTA, from what `prefetch` returned."""
        subtiles_n, rE = self.boxes[1] // self.epi[1], cute.make_rmem_tensor(tDcD.shape, mE.element_type)
        words, pair = cute.recast_tensor(held, Int32), cute.make_rmem_tensor(2, mE.element_type)
        for v in range(cute.size(tDcD)):  # in fours: two columns of a row, then those of the row 8 below
            if cute.is_static(mE.stride[1]) and mE.stride[1] == 0:
                rE[v] = held[v // 2 % 2, e // subtiles_n]
            else:
                eighth = e % subtiles_n * (self.epi[1] // 8) + v // 4
                for i in range(mE.element_type.width // 16 if v % 4 == 0 else 0):
                    word = words[i, eighth // 8]
                    cute.recast_tensor(pair, Int32)[i] = cute.arch.shuffle_sync(word, eighth % 8 * 4 + thread % 4)
                rE[v] = pair[v % 2]
        return rE

    @cute.jit
    def load(self, mE, crd, back, batch, r2s, tDcD):
        """This thread's elements of sub-tile crd, moved back, of mE, zero outside of it."""
        # NOTE: a negated value has lost its divisibility, and the loads their width.
        shift = cute.assume(-back[0], divby=16), cute.assume(-back[1], divby=self.epi[1])
        mE_l = cute.domain_offset(shift, mE[None, None, batch])
        tDgE = r2s.partition_S(cute.local_tile(mE_l, self.epi, crd))
        rE = cute.make_rmem_tensor(tDgE.shape, mE.element_type)
        rE.fill(0)  # NOTE: else the values of the last tile stay live through the main loop, and spill
        left = tuple(mE.shape[i] - crd[i] * self.epi[i] + back[i] for i in range(2))
        if const_expr(cute.is_static(mE.stride[1])) and cute.elem_less((self.epi[0] - 1, self.epi[1] - 1), left):
            cute.autovec_copy(tDgE, rE)
        else:
            for v in cutlass.range_constexpr(cute.size(tDcD)):
                if cute.elem_less(tDcD[v], left):
                    rE[v] = tDgE[v]
        return rE


# --- Host ------------------------------------------------------------------------------------------------------------

@functools.cache
def _launcher(config, dtype, extras):
    """launch(clusters, A, B, U, D, *extras), batches of one; sizes and all but the unit strides are run-time values.

    extras: (dtype, strides along D's (M, N), None where not 0 or 1, is aligned)."""
    M, N, K, L = (cute.sym_int() for _ in range(4))

    def fake(dtype, shape, strides, is_aligned=True):
        unit, alignment = (128 // DTYPES[dtype].width, 16) if is_aligned else (1, dtype.itemsize)
        strides = tuple(cute.sym_int64(divisibility=unit) if s is None else s for s in (*strides, None))
        return make_fake_tensor(DTYPES[dtype], (*shape, L), strides, assumed_align=alignment)

    rows = (None, 1)
    tensors = [(dtype, (M, K), rows), (dtype, (N, K), rows), (dtype, (M if config.swap else N, K), rows),
               (dtype, (M, N), rows[::-1] if config.swap else rows), *((kind, (M, N), *rest) for kind, *rest in extras)]
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernel = cute.compile(Gemm(config), Int32(1), stream, *(fake(*x) for x in tensors), options="--enable-tvm-ffi")
    return kernel.__tvm_ffi_object__()  # `kernel` is a slower Python wrapper that adds keyword arguments


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


@functools.lru_cache(maxsize=4096)
def _plan(a, wg, wu, s, r, config):
    """What follows from (dtype, device, shape, strides, is aligned) of each tensor; ValueError where they do not fit.

    (launch or None, clusters, whether the operands swap, views, copies): the kernel sees A, B, U, D and extras as
    views, (shape, strides); copies: those of A, Wg, Wu that TMA cannot address."""
    given, devices = [x for x in (a, wg, wu, s, r) if x], {str(x[1]) for x in (a, wg, wu, s, r) if x}
    dtype, device, shape, *_ = a
    _require(dtype in (torch.bfloat16, torch.float16), f"a must be bfloat16 or float16, got {dtype}")
    _require(all(x[0] == dtype for x in given if x is not s), f"wg, wu and r must be {dtype} like a")
    _require(s[0] == torch.float32, f"s must be float32, got {s[0]}")
    _require(len(shape) == 2 == len(wg[2]), f"a and wg must be matrices, got {tuple(shape)} and {tuple(wg[2])}")
    (m, k), n = shape, wg[2][0]
    for name, x, expected in (("wg", wg, (n, k)), ("wu", wu, (n, k)), ("s", s, (m,)), ("r", r, (m, n))):
        _require(x is None or tuple(x[2]) == expected, f"{name} must be {expected}, got {tuple((x or wg)[2])}")
    _require(n % 8 == 0 and k % 8 == 0 and k > 0, f"N and K > 0 must be multiples of 8, got {n} and {k}")
    _require(len(devices) == 1 and device.type == "cuda", f"the tensors must be on one CUDA device, got {devices}")
    _require(torch.cuda.get_device_capability(device) == (9, 0), "this kernel needs a Hopper GPU (sm_90)")

    copies, views = [], []
    for i, (_, _, (rows, _), (stride, unit), is_aligned) in enumerate((a, wg, wu)):
        stride = stride if rows > 1 else k  # torch: of one, any stride
        if unit != 1 or stride % 8 or stride < k or not is_aligned:
            copies.append(i)
        views.append(((rows, k, 1), (stride, 1, 8)))
    views.append(((m, n, 1), (n, 1, 8)))
    keys = []
    for kind, _, have, strides, is_aligned in ((s[0], s[1], (m, 1), (*s[3], 0), s[4]), *((r,) if r else ())):
        strides = [0 if h == 1 else step for h, step in zip(have, strides, strict=True)]
        steps = [x if x == 0 or x == 1 == strides[1] else None for x in strides]  # static: repeats, contiguous rows
        is_aligned &= all(x * kind.itemsize % 16 == 0 for x, step in zip(strides, steps, strict=True) if step is None)
        keys.append((kind, tuple(steps), is_aligned))
        views.append(((m, n, 1), (*strides, 16)))

    sms, k_tiles = torch.cuda.get_device_properties(device).multi_processor_count, -(-k // 64)
    straddles = any(view[1][0] % 64 for view in views[:3])
    # A few rows fill the narrow side of a tile better than a sixteenth of the other.
    cost = functools.partial(estimate_us, m=m, n=2 * n, batch=1, k_tiles=k_tiles, sms=sms, straddles=straddles)
    config = Config(*(config or min((c for c in CONFIGS if c.swap or m > 16), key=cost)))
    config = config._replace(split=min(config.split, k_tiles))
    if config.swap:  # D^T = W @ A^T
        turned = [((y, x, z), (q, p, u)) for (x, y, z), (p, q, u) in views[3:]]
        views = [views[1], views[0], views[2], *turned]
        keys = [(kind, steps[::-1], is_aligned) for kind, steps, is_aligned in keys]
    halves = (config.tile[0] // 2, config.tile[1]) if config.swap else (config.tile[0], config.tile[1] // 2)
    tiles = math.prod(-(-views[i][0][0] // (halves[i] * config.cluster[i])) for i in (0, 1))
    slots = sms * config.ctas // math.prod(config.cluster)
    launch = _launcher(config, dtype, tuple(keys)) if tiles and not copies else None
    return launch, tiles if config.split > 1 else min(tiles, slots), config.swap, views, copies if tiles else []


def kernel_fn(a, wg, wu, s, r=None, *, config=None):
    """silu(a @ wg.T * s[:, None]) * (a @ wu.T * s[:, None]) + r, rounded once; ValueError for what does not fit.

    a (M, K), wg and wu (N, K), r (M, N) or None: bfloat16 or float16 alike; s (M,) float32. N and K multiples of 8.
    config: one of CONFIGS, that of least estimate_us by default."""
    inputs = [a, wg, wu, s, r]
    _require(all(isinstance(x, torch.Tensor) for x in (inputs if r is not None else inputs[:4])),
             "a, wg, wu and s must be tensors, r a tensor or None")
    _require(not torch.is_grad_enabled() or not any(x is not None and x.requires_grad for x in inputs),
             "this kernel has no backward: detach the tensors or call it under torch.no_grad()")
    facts = (x if x is None else (x.dtype, x.device, x.shape, x.stride(), x.data_ptr() % 16 == 0) for x in inputs)
    launch, clusters, swap, views, copies = _plan(*facts, config)
    if copies:
        names = ", ".join("a wg wu".split()[i] for i in copies)
        warnings.warn(f"{names} copied: TMA takes contiguous rows at multiples of 16 bytes", stacklevel=2)
        inputs[:3] = (x.clone(memory_format=torch.contiguous_format) if i in copies else x
                      for i, x in enumerate(inputs[:3]))
        return kernel_fn(*inputs, config=config)
    out = a.new_empty((a.shape[0], wg.shape[0]))
    if launch:
        tensors = [*((wg, a, wu) if swap else (a, wg, wu)), out, s, *(() if r is None else (r,))]
        launch(clusters, *(x.as_strided(*view) for x, view in zip(tensors, views, strict=True)))
    return out
