"""Linear layer with bias and GELU, D = gelu(X @ W^T + bias): templates/gemm_sm90.py with its marked places edited.

Idea      The bias is one more tensor of the epilogue, a view of (N,) that repeats along M; the activation is two lines
          on the float32 accumulator. Neither X @ W^T nor its sum with the bias is rounded or goes through memory.
Layout    Requires  Verify    as in the template; `gemm_bias_gelu` below is the same call as an operator, for
          torch.compile: it costs some microseconds a call, so eager code calls kernel_fn.
Edited    reference_fn, get_inputs and cases; epilogue; kernel_fn. Nothing between epilogue and kernel_fn.
Measured  H200: 1.01 to 1.08 times as fast as cuBLASLt's epilogue, 1.14 as torch.compile at 4096^3
          (results/h200-2026-11-27-05ded0c-kernels.json); 1.13 to 1.42 times as fast as torch.compile
          (results/h200-2026-11-29-d8f3772-kernels.json)
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

def reference_fn(x, w, bias):  # EDIT
    return torch.nn.functional.gelu(x @ w.mT + bias, approximate="tanh")


def get_inputs(m=4096, n=4096, k=4096, dtype=torch.bfloat16, device="cuda"):  # EDIT
    """X (m, k), W (n, k) scaled so that X @ W^T is of order one, bias (n)."""
    x, w = torch.randn(m, k, dtype=dtype, device=device), torch.randn(n, k, dtype=dtype, device=device) * k**-0.5
    return [x, w, torch.randn(n, dtype=dtype, device=device)]


TEST_CASES = {
    "tails": {"m": 257, "n": 264, "k": 1096},
    "one_row": {"m": 1, "n": 520, "k": 4096},
    "small_m": {"m": 40, "n": 2112, "k": 1032, "dtype": torch.float16},
    "odd": {"m": 33, "n": 77, "k": 129},
    "empty": {"m": 0, "n": 264, "k": 72},
}
BENCH_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in (
    (4096, 4096, 4096), (8192, 8192, 2048), (4096, 16384, 4096), (2048, 4096, 1024), (512, 4096, 4096),
    (64, 4096, 4096))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">0", "spill_bytes": 0}}


def flops(x, w, bias):
    return 2 * x.numel() * w.shape[0]


# --- Configuration ---------------------------------------------------------------------------------------------------

DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16, torch.float32: cutlass.Float32,
          torch.float8_e4m3fn: cutlass.Float8E4M3FN}
OUT_DTYPES = {torch.bfloat16: torch.bfloat16, torch.float16: torch.float16, torch.float8_e4m3fn: torch.bfloat16}


class Config(NamedTuple):
    """tile: (M, N) of a CTA, M 64, 128 or 256. cluster: CTAs along (M, N) that share loads; split: CTAs that share the
    K of a tile (one of the two is trivial). ctas: per SM. swap: exchange A and B."""

    tile: tuple[int, int]
    cluster: tuple[int, int] = (1, 1)
    split: int = 1
    ctas: int = 1
    swap: bool = False


# tile, cluster, split, CTAs an SM, swap; cycles of a K tile and us of the rest of a tile, fitted to timings on an H200.
CONFIGS = {Config((bM, bN), (cM, cN), split, ctas, bool(swap)): costs for bM, bN, cM, cN, split, ctas, swap, *costs in (
    (64, 64, 1, 1, 1, 1, 0, 232, 0.69), (64, 96, 1, 1, 1, 1, 0, 252, 0.87), (64, 112, 1, 1, 1, 1, 0, 274, 1.03),
    (64, 128, 1, 1, 1, 1, 0, 297, 0.97), (64, 160, 1, 1, 1, 1, 0, 363, 1.25), (64, 176, 1, 1, 1, 1, 0, 400, 1.28),
    (64, 224, 1, 1, 1, 1, 0, 480, 1.57), (64, 256, 1, 1, 1, 1, 0, 560, 1.55), (64, 48, 2, 2, 1, 1, 0, 203, 0.68),
    (64, 64, 2, 2, 1, 1, 0, 191, 0.75), (64, 96, 2, 2, 1, 1, 0, 250, 0.89), (64, 80, 2, 4, 1, 1, 0, 220, 0.82),
    (64, 128, 2, 4, 1, 1, 0, 292, 1.04), (64, 128, 4, 1, 1, 1, 0, 288, 1.07), (64, 144, 4, 1, 1, 1, 0, 309, 1.16),
    (64, 128, 4, 2, 1, 1, 0, 286, 1.03), (64, 192, 4, 2, 1, 1, 0, 415, 1.37), (64, 32, 1, 1, 4, 1, 0, 201, 0.58),
    (64, 96, 1, 1, 4, 1, 0, 340, 0.97), (64, 96, 1, 1, 1, 2, 0, 267, 1.05), (64, 32, 1, 1, 4, 2, 0, 195, 0.59),
    (128, 96, 1, 1, 1, 1, 0, 426, 1.37), (128, 128, 1, 1, 1, 1, 0, 548, 1.54), (128, 192, 1, 1, 1, 1, 0, 809, 2.01),
    (128, 224, 1, 1, 1, 1, 0, 920, 2.75), (128, 144, 2, 1, 1, 1, 0, 603, 1.96), (128, 192, 2, 1, 1, 1, 0, 817, 2.18),
    (128, 224, 2, 1, 1, 1, 0, 912, 2.72), (128, 256, 2, 1, 1, 1, 0, 1019, 2.26), (128, 144, 2, 4, 1, 1, 0, 587, 1.87),
    (128, 192, 2, 4, 1, 1, 0, 762, 2.30), (128, 160, 4, 1, 1, 1, 0, 653, 1.62), (128, 192, 4, 1, 1, 1, 0, 765, 2.22),
    (128, 256, 4, 1, 1, 1, 0, 1039, 2.97), (128, 128, 1, 1, 4, 1, 0, 566, 1.93), (192, 96, 1, 1, 1, 1, 0, 631, 1.82),
    (192, 176, 1, 2, 1, 1, 0, 1095, 3.15), (256, 144, 1, 2, 1, 1, 0, 1203, 3.37),
    (256, 160, 1, 2, 1, 1, 0, 1283, 3.54), (256, 176, 1, 2, 1, 1, 0, 1439, 3.96),
    (256, 192, 1, 2, 1, 1, 0, 1528, 4.06), (256, 176, 2, 1, 1, 1, 0, 1449, 4.01),
    (256, 160, 2, 2, 1, 1, 0, 1275, 3.62), (64, 32, 1, 1, 1, 1, 1, 232, 0.61), (64, 48, 1, 1, 1, 1, 1, 236, 0.73),
    (64, 160, 1, 1, 1, 1, 1, 365, 1.29), (64, 32, 2, 2, 1, 1, 1, 195, 0.60), (64, 48, 2, 2, 1, 1, 1, 190, 0.68),
    (64, 96, 2, 2, 1, 1, 1, 232, 0.95), (64, 80, 2, 4, 1, 1, 1, 212, 0.83), (64, 96, 2, 4, 1, 1, 1, 223, 0.92),
    (64, 80, 4, 2, 1, 1, 1, 222, 0.84), (64, 112, 4, 2, 1, 1, 1, 249, 1.05), (64, 144, 4, 2, 1, 1, 1, 310, 1.19),
    (64, 64, 1, 1, 2, 1, 1, 280, 0.77), (64, 128, 1, 1, 2, 1, 1, 386, 1.19), (64, 48, 1, 1, 3, 1, 1, 220, 0.67),
    (64, 96, 1, 1, 3, 1, 1, 325, 0.98), (64, 128, 1, 1, 3, 1, 1, 351, 1.13), (64, 48, 1, 1, 4, 1, 1, 207, 0.68),
    (64, 80, 1, 1, 4, 1, 1, 271, 0.84), (64, 32, 1, 1, 8, 1, 1, 213, 0.61), (64, 16, 1, 1, 1, 2, 1, 205, 0.53),
    (64, 48, 1, 1, 1, 2, 1, 252, 0.71), (64, 80, 1, 1, 1, 2, 1, 282, 1.00), (64, 32, 4, 1, 1, 2, 1, 226, 0.65),
    (64, 16, 1, 1, 2, 2, 1, 188, 0.51), (64, 32, 1, 1, 2, 2, 1, 228, 0.61), (64, 16, 1, 1, 3, 2, 1, 188, 0.52),
    (64, 48, 1, 1, 3, 2, 1, 222, 0.70), (64, 16, 1, 1, 4, 2, 1, 185, 0.48), (64, 32, 1, 1, 4, 2, 1, 197, 0.62),
    (64, 48, 1, 1, 4, 2, 1, 234, 0.72), (128, 144, 1, 1, 1, 1, 1, 612, 2.11), (128, 160, 1, 1, 1, 1, 1, 678, 2.09),
    (128, 208, 2, 1, 1, 1, 1, 827, 2.96), (128, 80, 2, 2, 1, 1, 1, 361, 1.31), (128, 96, 2, 2, 1, 1, 1, 368, 1.42),
    (128, 32, 4, 1, 1, 1, 1, 268, 0.81), (128, 160, 4, 2, 1, 1, 1, 649, 2.15), (128, 96, 1, 1, 3, 1, 1, 484, 1.50),
    (128, 64, 1, 1, 4, 1, 1, 396, 1.13), (128, 80, 1, 1, 4, 1, 1, 471, 1.36), (192, 112, 1, 2, 1, 1, 1, 682, 2.50),
    (192, 160, 2, 1, 1, 1, 1, 962, 2.99), (192, 176, 2, 1, 1, 1, 1, 1073, 3.29),
)}
TUNING_SPACE = {"config": tuple(CONFIGS)}


def resident_clusters(config, sms):
    """How many clusters run together; those of more than two CTAs do not fill a GPC. An H200 of 132 SMs holds 66
    clusters of 2, 39 of 3, 30 of 4, 15 of 8 (cuOccupancyMaxActiveClusters)."""
    size = math.prod(config.cluster) * config.split
    return max(1, sms * config.ctas * 100 // (size * (100 if size <= 2 else 112 if size == 3 else 110)))


def estimate_us(config, m, n, batch, k_tiles, sms, line=128):
    """The rule that picks a configuration: waves of CTAs at its measured rate, or bytes at that of DRAM, plus what
    launch, epilogue and exchange cost. line: the power of two, to 128 bytes, at whose multiples rows start; below 128
    those of a K tile straddle lines, and a cluster reads them once. A tile larger than the product waits for TMA to
    fill rows with zeros. Fitted to 187 shapes, and to 211 that were raced before."""
    (bM, bN), (cM, cN), split, ctas, swap = config
    (m, n), (cycles, rest) = (n, m) if swap else (m, n), CONFIGS[config]
    tiles, size = max(1, -(-m // (bM * cM)) * -(-n // (bN * cN)) * batch), cM * cN * split
    waves, crowding = -(-tiles // resident_clusters(config, sms)), ctas if tiles * size > sms else 1
    cycles += 18.2 / line * (line < 128) * (bM / cN + bN / cM) + 3.9 * (max(0, bM - m) + max(0, bN - n))
    compute = waves * -(-k_tiles // split) * cycles * crowding / 1755
    dram = (m + n) * batch * k_tiles * 128 / 4.52e6
    exchange = (1.2 * waves - 0.4) * (split > 1) + 0.3 * (cM * cN > 2)
    return 1.8 + (compute**4 + dram**4) ** 0.25 + waves * rest + exchange


# --- Device ----------------------------------------------------------------------------------------------------------

OUTPUTS = 1  # EDIT: how many tensors the epilogue returns
FOLD = 1  # EDIT: columns of A @ B^T per column of D; 2 hands the epilogue pairs of columns that lie 8 apart


def epilogue(acc, extra, alpha, beta):  # EDIT
    """gelu(acc + bias), in its form with tanh."""
    x = acc[0] + extra[0]
    return (0.5 * x * (1.0 + cute.math.tanh(x * (0.7978845608 + 0.0356774081 * x * x), fastmath=True)),)


class Gemm:
    """outs[M, N, L] = epilogue(A[M, K, L] @ B[N, K, L]^T, extras[M, N, L])."""

    def __init__(self, config):
        self.tile, self.cluster, self.split, self.ctas, _ = config
        assert self.cluster == (1, 1) or self.split == 1, "a cluster shares loads or K, not both"
        self.consumers = {64: 1, 128: 2, 192: 3, 256: 2}[self.tile[0]]  # warpgroups; each takes 64 rows at a time
        assert self.tile[1] % (16 * FOLD) == 0, "the columns of a tile are a multiple of 16 results"
        self.threads = 128 * self.consumers

    @cute.jit
    def __call__(self, alpha: Float32, beta: Float32, clusters: Int32, stream, mA, mB, *tensors):
        (bM, bN), dtype, outs, extras = self.tile, mA.element_type, tensors[:OUTPUTS], tensors[OUTPUTS:]
        self.dtype, self.out_dtype, self.bK = dtype, outs[0].element_type, 128 * 8 // dtype.width
        major_a, major_b, major_d = (LayoutEnum.from_tensor(mX) for mX in (mA, mB, outs[0]))
        self.is_transposed = major_d.is_m_major_c()
        modes = (major_a.sm90_mma_major_mode(), major_b.sm90_mma_major_mode())
        tiled_mma = sm90.make_trivial_tiled_mma(dtype, dtype, *modes, Float32, (self.consumers, 1, 1), (64, bN))
        columns, loaded = bN // FOLD, [mE for mE in extras if not self.repeats(mE)]
        is_wide = columns % 64 == 0 and columns > 64 and not self.is_transposed  # 64 columns are lines of 128 bytes
        eN = 64 if is_wide else 32 if columns % 32 == 0 or columns > 64 else 16
        if const_expr(len(loaded) > 0 or self.split > 1):
            # No overlap here, as D may lie where C is. The addresses of strided extras take registers.
            is_strided = not all(cute.is_static(mE.stride[1]) for mE in loaded)
            eN = 16 if self.split > 1 or is_strided or columns % 32 else 32
        self.epi, self.box = (64 * self.consumers, eN), (16, eN)  # what all consumers, and one warp, store at a time
        self.starts = [min(start, columns - eN) for start in range(0, columns, eN)]  # the last two may overlap
        self.subtiles = bM // self.epi[0] * len(self.starts)
        self.share = -(-self.subtiles // self.split)  # sub-tiles that a CTA finishes
        self.sums = self.share * math.prod(self.epi) * FOLD // self.threads  # accumulators of a thread in them
        epi_bytes = 2 * len(outs) * self.epi[0] * eN * self.out_dtype.width // 8
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
        tmas = (tma(load, mA, sA, (bM, self.bK)), tma(load, mB, sB, (bN, self.bK)))
        tma_outs = tuple(tma(store, mD, sBox, self.box) for mD in outs)
        self.kernel(tiled_mma, *tmas, tma_outs, extras, sA, sB, sD, alpha, beta).launch(
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
        units = (16, self.tile[0] - 16), (self.epi[1] * FOLD, self.starts[-1] * FOLD)
        for at, size, extent, (unit, last) in zip(place, self.tile, extents, units):
            outside = cutlass.min(cutlass.max((at + 1) * size - extent, 0), at * size)
            to_last = cutlass.min(outside // max(last, 1), 1) * last
            # To where a sub-tile starts, so that none is stored in part.
            back.append(cute.assume(cutlass.max(cutlass.min(outside // unit * unit, last), to_last), divby=16))
        return *place, batch, back

    @cute.kernel
    def kernel(self, tiled_mma, tma_a, tma_b, tma_outs, extras, sA_layout, sB_layout, sD_layout, alpha, beta):
        (bM, bN), (cM, cN), bK, (eM, eN) = self.tile, self.cluster, self.bK, self.epi
        (copy_a, mA), (copy_b, mB) = tma_a, tma_b
        thread, _, _ = cute.arch.thread_idx()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        if warp_idx == 0:
            for copy, _ in (tma_a, tma_b, *tma_outs):
                cpasync.prefetch_descriptor(copy)

        smem = cutlass.memory.SmemAllocator()
        tensor = lambda dtype, layout: smem.allocate_tensor(dtype, layout.outer, 1024, swizzle=layout.inner)
        sA, sB = tensor(self.dtype, sA_layout), tensor(self.dtype, sB_layout)  # (bM, bK, stages), (bN, bK, stages)
        sDs = [tensor(self.out_dtype, sD_layout) for _ in tma_outs]
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
        tiles_mn = cute.ceil_div(extents[0], bM * cM), cute.ceil_div(extents[1], bN * cN)
        tiles, k_tiles = tiles_mn[0] * tiles_mn[1] * mA.shape[2], cute.ceil_div(mA.shape[1], bK)
        depth = cute.arch.grid_dim()[2]
        first, step = z // self.split, depth // self.split
        k_first, k_last = k_tiles * rank // self.split, k_tiles * (rank + 1) // self.split

        if warp_idx < 4:
            if const_expr(self.consumers == 2 and self.ctas == 1):
                cute.arch.setmaxregister_decrease(24)
            if warp_idx == 0:
                for t in cutlass.range(first, tiles, step, unroll=1):
                    m, n, batch, back = self.locate(t, tiles_mn, extents)
                    mA_l, mB_l = (cute.domain_offset((-b, 0), mX[None, None, batch]) for b, mX in zip(back, (mA, mB)))
                    gA = cute.local_tile(mA_l, (bM, bK), (m, None))  # (bM, bK, tiles of K)
                    gB = cute.local_tile(mB_l, (bN, bK), (n, None))  # (bN, bK, tiles of K)
                    for k in cutlass.range(k_first, k_last, unroll=1):
                        stage = producer.acquire_and_advance()
                        for copy, gX, sX, along in ((copy_a, gA, sA, "M"), (copy_b, gB, sB, "N")):
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
            store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(self.is_transposed, 4), self.out_dtype)
            r2s = cute.make_tiled_copy_S(store, cute.make_tiled_copy_C_atom(store, tiled_mma)).get_slice(thread)
            tDcD = r2s.partition_S(cute.make_identity_tensor(self.epi))  # this thread's (m, n) in a sub-tile
            values, subtiles_n = const_expr(cute.size(tDcD)), const_expr(len(self.starts))

            for t in cutlass.range(first, tiles, step, unroll=1):
                m, n, batch, back = self.locate(t, tiles_mn, extents)
                back = back[0], back[1] // FOLD
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

                sums = acc if const_expr(self.split == 1) else self.exchange(acc, sP, arrived, rank, thread)
                for e in cutlass.range_constexpr(self.share):
                    sub = rank * self.share + e
                    if const_expr(self.split == 1) or sub < self.subtiles:
                        crd = (m * (bM // eM) + sub // subtiles_n, n * subtiles_n + sub % subtiles_n)
                        rEs = [self.load(mE, crd, back, batch, r2s, tDcD) if const_expr(rH is None)
                               else self.hand_out(mE, rH, e, thread, tDcD) for mE, rH in zip(extras, held, strict=True)]
                        rDs = [cute.make_rmem_tensor(tDcD.shape, Float32) for _ in tma_outs]
                        first = const_expr((e // subtiles_n * (bN // FOLD) + self.starts[e % subtiles_n]) // 2)
                        for v in cutlass.range_constexpr(values):
                            at = (first + v) // 4 * 4 * FOLD + v % 4  # accumulators come in fours, 8 columns apart
                            elements = epilogue([sums[at + 4 * f] for f in range(FOLD)],
                                                [rE[v].to(Float32) for rE in rEs], alpha, beta)
                            for rD, element in zip(rDs, elements, strict=True):
                                rD[v] = element
                        # Two buffers take turns; after an odd number of sub-tiles the next tile starts on the last one.
                        cute.arch.cp_async_bulk_wait_group(1 if e > 0 or self.share % 2 == 0 else 0, read=True)
                        cute.arch.sync_warp()
                        for rD, sD in zip(rDs, sDs, strict=True):
                            rO = cute.make_rmem_tensor(tDcD.shape, self.out_dtype)
                            rO.store(rD.load().to(self.out_dtype))
                            cute.copy(r2s, rO, r2s.partition_D(sD)[None, None, None, e % 2])
                        cute.arch.fence_view_async_shared()
                        cute.arch.sync_warp()
                        row = crd[0] * (eM // 16) + warp_idx - 4  # in boxes; column: in the tile
                        column = cutlass.min(sub % subtiles_n * eN, bN // FOLD - eN)
                        if row * 16 >= m * bM + back[0] and column >= back[1]:
                            for (copy, mD), sD in zip(tma_outs, sDs, strict=True):
                                sBox = cute.local_tile(sD[None, None, e % 2], self.box, (warp_idx - 4, 0))
                                start = -back[0], n * (bN // FOLD) + column - back[1]
                                mD_l = cute.domain_offset(start, mD[None, None, batch])
                                gBox = cute.local_tile(mD_l, self.box, (row, 0))
                                block_copy(copy, cute.group_modes(sBox, 0, 2), cute.group_modes(gBox, 0, 2))
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
        return is_same and (self.split == 1 or self.tile[0] == 64 * self.consumers)  # else rank decides on the rows

    def prefetch(self, mE, m, n, back, batch, rank, thread, tDcD):
        """What this thread keeps of an mE that repeats, else None: along N the values of its rows, (2, blocks of rows);
        along M two of every 64 columns that the CTA finishes, (2, columns / 64), spread over the lanes of a warp.
        Indices stop at the edge: what lies beyond is not stored."""
        (bM, bN), (eM, eN) = self.tile, self.epi
        if not self.repeats(mE):
            return None
        mode = 0 if cute.is_static(mE.stride[1]) and mE.stride[1] == 0 else 1
        if mode == 0:
            start, steps, blocks = m * bM - back[0], (tDcD[0][0], tDcD[2][0]), (eM, bM // eM)
        else:
            lane, columns = thread % 32, min(self.share * eN, bN // FOLD)
            start, steps, blocks = n * (bN // FOLD) - back[1], (2 * lane, 2 * lane + 1), (64, -(-columns // 64))
            start += rank * columns if self.split > 1 else 0
        held = cute.make_rmem_tensor((2, blocks[1]), mE.element_type)
        for i, step in enumerate(steps):
            for block in range(blocks[1]):
                at = cutlass.min(start + block * blocks[0] + step, mE.shape[mode] - 1)
                held[i, block] = mE[(at, 0, batch) if mode == 0 else (0, at, batch)]
        return held

    def hand_out(self, mE, held, e, thread, tDcD):
        """What `load` returns for the e-th sub-tile of this CTA, from what `prefetch` returned."""
        subtiles_n, rE = len(self.starts), cute.make_rmem_tensor(tDcD.shape, mE.element_type)
        words, pair = cute.recast_tensor(held, Int32), cute.make_rmem_tensor(2, mE.element_type)
        for v in range(cute.size(tDcD)):  # in fours: two columns of a row, then those of the row 8 below
            if cute.is_static(mE.stride[1]) and mE.stride[1] == 0:
                rE[v] = held[v // 2 % 2, e // subtiles_n]
            else:
                eighth = self.starts[e % subtiles_n] // 8 + v // 4
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
def _launcher(config, dtype, majors, extras):
    """launch(alpha, beta, clusters, A, B, *outs, *extras); sizes and all but the unit strides are run-time values.

    majors: the contiguous mode of A, B, D; extras: (dtype, strides along (M, N), None where not 0 or 1, is aligned).
    """
    M, N, K, L, columns = (cute.sym_int() for _ in range(5))

    def fake(dtype, shape, strides, is_aligned=True):
        unit, alignment = (128 // DTYPES[dtype].width, 16) if is_aligned else (1, dtype.itemsize)
        strides = tuple(cute.sym_int64(divisibility=unit) if s is None else s for s in (*strides, None))
        return make_fake_tensor(DTYPES[dtype], (*shape, L), strides, assumed_align=alignment)

    out = (columns, N) if config.swap else (M, columns)
    a, b, d = ((1, None) if major == 0 else (None, 1) for major in majors)
    tensors = [(dtype, (M, K), a), (dtype, (N, K), b), *[(OUT_DTYPES[dtype], out, d)] * OUTPUTS]
    tensors += [(kind, out, *rest) for kind, *rest in extras]
    numbers = Float32(1), Float32(1), Int32(1), make_fake_stream(use_tvm_ffi_env_stream=True)
    kernel = cute.compile(Gemm(config), *numbers, *(fake(*x) for x in tensors), options="--enable-tvm-ffi")
    return kernel.__tvm_ffi_object__()  # `kernel` is a slower Python wrapper that adds keyword arguments


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


@functools.lru_cache(maxsize=4096)
def _plan(a, b, out, extras, config):
    """What follows from (dtype, device, shape, strides, is aligned) of each tensor; ValueError where they do not fit.

    (strides of D, launch or None, clusters, whether A and B swap, views, copies): the kernel sees A, B, D and extras as
    views, (shape, strides); copies: those of "a", "b", "out" that TMA cannot address."""
    _require(len(a[2]) > 1 < len(b[2]), f"a and b must be matrices or batches of them, got {a[2]} and {b[2]}")
    (dtype, device, (*batch, m, k), *_), (_, _, (*batch_b, n, k_b), *_) = a, b
    devices = {str(x[1]) for x in (a, b, out or a, *extras)}
    _require(dtype in OUT_DTYPES and b[0] == dtype, f"a and b must be one of {list(OUT_DTYPES)}, got {dtype}, {b[0]}")
    _require(len(devices) == 1 and device.type == "cuda", f"the tensors must be on one CUDA device, got {devices}")
    _require(torch.cuda.get_device_capability(device) == (9, 0), "this kernel needs a Hopper GPU (sm_90)")
    _require(len(batch) < 2 and batch == batch_b and k == k_b > 0,
             f"a and b must be (M, K) and (N, K) or equal batches of them, K > 0, got {tuple(a[2])} and {tuple(b[2])}")
    shape, width, size = (*batch, m, n // FOLD), -(-n // FOLD // 8) * 8, math.prod(batch)
    out = out or (OUT_DTYPES[dtype], device, shape, (m * width, width, 1)[-len(shape):], True)
    _require(out[0] == OUT_DTYPES[dtype] and out[2] == shape and (FOLD == 1 or n % (16 * FOLD) == 0),
             f"out must be {OUT_DTYPES[dtype]} {shape}, got {out[0]} {tuple(out[2])}; folding takes N % 32 == 0")

    views, majors, copies, keys = [], [], [], []
    for name, (kind, _, have, strides, is_aligned) in (("a", a), ("b", b), ("out", out)):
        sizes, unit = (*have[-2:], size), 16 // kind.itemsize
        strides = (*strides[-2:], *(strides[:-2] or (unit,)))
        strides = [s if full > 1 else unit for s, full in zip(strides, sizes, strict=True)]  # torch: of one, any stride
        major = 0 if strides[0] == 1 < sizes[1] and unit < 16 else 1
        strides[major] = 1 if sizes[major] == 1 else strides[major]
        bad = strides[major] != 1 or any(strides[d] % unit or strides[d] < 1 for d in (1 - major, 2))
        if bad or not is_aligned or (name == "out" and sizes[1 - major] > 1 and strides[1 - major] < sizes[major]):
            copies.append(name)
        majors.append(major)
        views.append((sizes, tuple(strides)))
    views += views[2:] * (OUTPUTS - 1)
    for kind, _, have, strides, is_aligned in extras:
        have, strides = ((*(pad,) * (3 - len(x)), *x) for pad, x in ((1, have), (0, strides)))
        fits = len(have) == 3 and all(h in (1, full) for h, full in zip(have, (size, *shape[-2:]), strict=True))
        _require(fits and kind in DTYPES and kind.itemsize > 1, f"{kind} {have} does not broadcast to {shape}")
        batch_stride, *strides = (0 if h == 1 else s for h, s in zip(have, strides, strict=True))
        steps = [s if s == 0 or s == 1 == strides[1] else None for s in strides]  # static: repeats, contiguous rows
        is_aligned &= all(s * kind.itemsize % 16 == 0 for s, step in zip(strides, steps, strict=True) if step is None)
        keys.append((kind, tuple(steps), is_aligned and batch_stride * kind.itemsize % 16 == 0))
        views.append((views[2][0], (*strides, batch_stride)))

    sms, k_tiles = torch.cuda.get_device_properties(device).multi_processor_count, -(-k * dtype.itemsize // 128)
    # A few rows fill the narrow side of a tile better than a sixteenth of the other.
    fitting = [c for c in CONFIGS if (c.swap or m > 16 if FOLD == 1 else not c.swap and c.tile[1] % (16 * FOLD) == 0)]
    line = math.gcd(128, *(s * dtype.itemsize for view in views[:2] for s in view[1][:2] if s > 1))
    cost = functools.partial(estimate_us, m=m, n=n, batch=size, k_tiles=k_tiles, sms=sms, line=line)
    config = Config(*(config or min(fitting, key=cost)))
    config = config._replace(split=min(config.split, k_tiles))
    if config.swap:  # D^T = B @ A^T
        turned = [((y, x, z), (t, s, u)) for (x, y, z), (s, t, u) in views[2:]]
        views, majors = [views[1], views[0], *turned], [majors[1], majors[0], 1 - majors[2]]
        keys = [(kind, strides[::-1], is_aligned) for kind, strides, is_aligned in keys]
    rows, columns = (-(-views[i][0][0] // (config.tile[i] * config.cluster[i])) for i in (0, 1))
    tiles, slots = rows * columns * size, resident_clusters(config, sms)
    launch = _launcher(config, dtype, tuple(majors), tuple(keys)) if tiles and not copies else None
    return out[3], launch, tiles if config.split > 1 else min(tiles, slots), config.swap, views, copies if tiles else []


def gemm(a, b, extras, alpha, beta, out, config):
    """kernel_fn for any tensors that the epilogue reads. Returns OUTPUTS tensors; only a single one may be given."""
    given, inputs = [] if out is None else [out], [a, b, *extras]
    _require(not torch.is_grad_enabled() or not any(x.requires_grad for x in inputs + given),
             "this kernel has no backward: detach the tensors or call it under torch.no_grad()")
    fact_a, fact_b, *facts = ((x.dtype, x.device, x.shape, x.stride(), x.data_ptr() % 16 == 0) for x in inputs + given)
    fact_out = facts.pop() if given else None
    strides, launch, clusters, swap, views, copies = _plan(fact_a, fact_b, fact_out, tuple(facts), config)
    for i, x in enumerate(inputs if given else ()):
        (start, end), (x_start, x_end) = _span(out), _span(x)
        _require(end <= x_start or x_end <= start or (i >= 2 and facts[i - 2] == fact_out and start == x_start),
                 "out overlaps an input; only a tensor that the epilogue reads may be out itself")
    shape = (*a.shape[:-1], b.shape[-2] // FOLD)
    if copies or (not given and shape[-1] % 8):
        warnings.warn(f"{', '.join(copies) or 'out'} copied: TMA takes one contiguous mode, other strides and "
                      "addresses in multiples of 16 bytes", stacklevel=3)
    if copies:
        a, b = (_padded(x).copy_(x) if name in copies else x for name, x in (("a", a), ("b", b)))
        result = gemm(a, b, extras, alpha, beta, _padded(out) if "out" in copies else out, config)
        return out.copy_(result) if "out" in copies else result
    outs = given or [a.new_empty_strided(shape, strides, dtype=OUT_DTYPES[a.dtype]) for _ in range(OUTPUTS)]
    if launch:
        tensors = [*((b, a) if swap else (a, b)), *outs, *extras]
        tensors = [x.as_strided(*view) for x, view in zip(tensors, views, strict=True)]
        launch(float(alpha), float(beta), clusters, *tensors)
    outs = given or [x.contiguous() for x in outs]
    return tuple(outs) if OUTPUTS > 1 else outs[0]


def _span(x):
    """The addresses of x: first, and past the last."""
    reach = sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True)) + 1 if x.numel() else 0
    return x.data_ptr(), x.data_ptr() + reach * x.itemsize


def _padded(x):
    """A new tensor like x, whose rows start at multiples of 16 bytes."""
    width = -(-x.shape[-1] * x.itemsize // 16) * 16 // x.itemsize
    return x.new_empty((*x.shape[:-1], width))[..., : x.shape[-1]]


def kernel_fn(x, w, bias, *, out=None, config=None):  # EDIT
    """gelu(x @ w.T + bias): x (M, K), w (N, K) of bfloat16 or float16, bias (N,); ValueError for what does not fit."""
    return gemm(x, w, (bias,), 1.0, 0.0, out, config)


@torch.library.custom_op("cute_dsl_kernels::gemm_bias_gelu", mutates_args=())
def gemm_bias_gelu(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return kernel_fn(x, w, bias)


@gemm_bias_gelu.register_fake
def _(x, w, bias):
    return x.new_empty(x.shape[0], w.shape[0])
