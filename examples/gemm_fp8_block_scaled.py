"""FP8 matrix product with block scales, D = (A * scale_a) @ (B * scale_b)^T, on Hopper (bound by the tensor cores).

Idea      The scheme of DeepSeek-V3: A has one float32 scale per row and 128 of K, B one per 128 x 128 block, so that an
          outlier costs its own block precision and no other. A K tile is one scale block. Its products begin at zero
          in one set of accumulators, and `total += part * (scale_a * scale_b)` promotes them to another: that
          applies the scales, and it ends the tensor core's sum, which keeps fewer bits than float32, after 128
          terms. While one warpgroup promotes, the other one multiplies. A tile of 256 columns is multiplied in two
          waves of 128, which take turns with the one set, and the two CTAs of a cluster share B by multicast.
Layout    A (M, K), B (N, K), float8_e4m3fn. The scales of A and a K tile are one more TMA box of its stage, if
          scale_a (M, K / 128) is contiguous along M; else it is copied first. scale_b (N / 128, K / 128) is uniform in
          128 columns: the warp that loads copies one, two or three values. D (M, N) bfloat16, stored by TMA from a
          buffer of half a tile. Sums of 64 x 128, partial, and 64 x 256, total, are what a warpgroup's registers hold.
Requires  sm_90a; K a multiple of 16, contiguous along K (as 8-bit WGMMA wants), any M, N. N that is no multiple of 8
          costs a copy of D. No backward.
Verify    python scripts/verify_kernel.py examples/gemm_fp8_block_scaled.py
Measured  H200: 1.00 to 1.18 times as fast as torch._scaled_mm
          (results/h200-2026-11-22-1cc80f0-kernels.json)
"""

import functools
import math
from typing import NamedTuple

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float8E4M3FN, Float32, Int32, Int64, const_expr, pipeline
from cutlass.block import block_copy
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------

GROUP = 128  # of K, and of N for B, that share a scale
HIGHEST = 448.0  # of float8_e4m3fn


def reference_fn(a, scale_a, b, scale_b):
    (n, k), wide = b.shape, torch.promote_types(scale_a.dtype, torch.float32)
    a_wide = a.to(wide) * scale_a.repeat_interleave(GROUP, 1)[:, :k]
    b_wide = b.to(wide) * scale_b.repeat_interleave(GROUP, 0)[:n].repeat_interleave(GROUP, 1)[:, :k]
    return (a_wide @ b_wide.mT).to(torch.bfloat16 if a.dtype == torch.float8_e4m3fn else wide)


def quantise(x, rows):
    """(x in float8_e4m3fn, its scales), a scale per block of `rows` rows and GROUP columns: their largest / HIGHEST.

    The scales are contiguous along the rows, their columns begin at multiples of 16 bytes."""
    m, k = x.shape
    x = torch.nn.functional.pad(x.float(), (0, -k % GROUP, 0, -m % rows))
    blocks = x.unflatten(1, (-1, GROUP)).unflatten(0, (-1, rows))  # (m / rows, rows, k / GROUP, GROUP)
    scales = blocks.abs().amax((1, 3)).clamp(min=1e-12) / HIGHEST
    quantised = (blocks / scales[:, None, :, None]).flatten(2, 3).flatten(0, 1)[:m, :k].to(torch.float8_e4m3fn)
    padded = torch.nn.functional.pad(scales.mT, (0, -len(scales) % 4)).contiguous()
    return quantised.contiguous(), padded[:, : len(scales)].mT


def get_inputs(m=4096, n=7168, k=2048, scales="m", device="cuda"):
    """A (m, k), its scales, contiguous along `scales`, B (n, k), its scales; some columns of both are outliers."""
    outliers = 1 + 20 * (torch.rand(k, device=device) < 0.01)
    a, scale_a = quantise(torch.randn(m, k, device=device) * outliers, 1)
    b, scale_b = quantise(torch.randn(n, k, device=device) * outliers * k**-0.5, GROUP)
    return [a, scale_a if scales == "m" else scale_a.contiguous(), b, scale_b.contiguous()]


TEST_CASES = {
    "tails": {"m": 65, "n": 136, "k": 272},
    "odd": {"m": 33, "n": 77, "k": 144},
    "one_row": {"m": 1, "n": 264, "k": 1040},
    "scales_along_k": {"m": 70, "n": 136, "k": 400, "scales": "k"},
    "waves": {"m": 4290, "n": 264, "k": 16},
    "clusters": {"m": 4290, "n": 4232, "k": 528},
    "ragged_blocks": {"m": 4090, "n": 2112, "k": 400},
}
BENCH_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in (
    (4096, 7168, 2048), (4096, 4096, 7168), (4096, 24576, 1536), (4096, 7168, 16384), (4096, 2112, 7168),
    (128, 7168, 2048), (64, 24576, 1536))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"QGMMA": ">0", "UTMALDG": ">0", "UTMASTG": ">0", "spill_bytes": 0}}


def flops(a, scale_a, b, scale_b):
    return 2 * a.numel() * b.shape[0]


# --- Configuration ---------------------------------------------------------------------------------------------------


class Config(NamedTuple):
    """tile: (M, N) of a CTA, M 64, 128 or 256. cluster: CTAs along (M, N) that share loads. slots: boxes of D that a
    warp may have under way to memory; they divide the boxes of its tile. What a tile does not fill, stages do."""

    tile: tuple[int, int]
    cluster: tuple[int, int] = (1, 1)
    slots: int = 2


CONFIGS = (Config((64, 64)), Config((64, 128)), Config((128, 128), (2, 1), 4), Config((128, 128), slots=4),
           Config((128, 176), (2, 1), 11), Config((128, 192), (2, 1), 6), Config((128, 256), (2, 1), 4))
TUNING_SPACE = {"config": CONFIGS}

# --- Device ----------------------------------------------------------------------------------------------------------

BAND = 2048  # rows of D that run side by side
RING = 16  # K tiles whose scales of B stay in shared memory; more than stages


class BlockScaledGemm:
    """mD[M, N]: the sum of mScaleA[M, k] * mScaleB[N / GROUP, k] * (mA[M, K] @ mB[N, K]^T) over the blocks k of K."""

    def __init__(self, config):
        self.tile, self.cluster, self.slots = config
        bM, bN = self.tile
        self.consumers = min(bM // 64, 2)  # warpgroups; each takes 64 rows of a wave
        self.threads = 128 * self.consumers
        self.wave = (64 * self.consumers, GROUP if bN == 2 * GROUP else bN)  # of the tile, that is multiplied at a time
        self.unit = math.gcd(bN, GROUP)  # columns that share a scale of B, wherever the tile begins
        self.blocks = -(-(GROUP - self.unit + bN) // GROUP)  # of columns, that a tile can meet
        self.box = (16, 16 if bN % 32 else 32)  # of D, that a warp stores at a time
        self.stage_bytes = sum(self.tile) * GROUP + bM * 4
        boxes = bM // self.wave[0] * bN // self.box[1]  # of a warp
        assert boxes % self.slots == 0, f"a box keeps its slot from tile to tile: {self.slots} must divide {boxes}"
        self.stages = min(8, (227 * 1024 - 512 - self.slots * self.wave[0] * self.box[1] * 2) // self.stage_bytes)
        assert self.stages >= 2, "the tile is too large: two stages must fit in shared memory"

    @cute.jit
    def __call__(self, mA: cute.Tensor, mScaleA: cute.Tensor, mB: cute.Tensor, mScaleB: cute.Tensor, mD: cute.Tensor,
                 clusters: Int32, stream: cuda.CUstream):
        (bM, bN), row, major = self.tile, LayoutEnum.ROW_MAJOR, OperandMajorMode.K
        mma = sm90.make_trivial_tiled_mma(Float8E4M3FN, Float8E4M3FN, major, major, Float32, (self.consumers, 1, 1),
                                          (64, self.wave[1]))
        sA = sm90.make_smem_layout_a(row, (bM, bN, GROUP), Float8E4M3FN, self.stages)
        sB = sm90.make_smem_layout_b(row, (bM, bN, GROUP), Float8E4M3FN, self.stages)
        sScaleA = cute.make_layout((bM, 1, self.stages), stride=(1, bM, bM))
        sD = sm90.make_smem_layout_epi(BFloat16, row, self.box, self.slots,
                                       smem_trg_shape=(self.wave[0], self.box[1], self.slots))
        sBox = sm90.make_smem_layout_epi(BFloat16, row, self.box, 1)

        def tma(op, mX, smem, box):  # (copy atom, tensor of coordinates)
            return tuple(cpasync.make_tiled_tma_atom(op, mX, cute.slice_(smem, (None, None, 0)), box))

        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        loads = (tma(load, mA, sA, (bM, GROUP)), tma(load, mScaleA, sScaleA, (bM, 1)), tma(load, mB, sB, (bN, GROUP)))
        self.kernel(mma, *loads, tma(store, mD, sBox, self.box), mScaleB, sA, sB, sScaleA, sD).launch(
            grid=(*self.cluster, clusters), block=(self.threads + 128, 1, 1), min_blocks_per_mp=1, stream=stream,
            cluster=None if self.cluster == (1, 1) else (*self.cluster, 1))

    @cute.jit
    def locate(self, t, tiles_m, tiles_n):
        """(m, n) of this CTA in the t-th tile of clusters: bands of tiles along M, so that those that run together
        form a rectangle, which shares its rows and columns in L2."""
        (cM, cN), (x, y, _) = self.cluster, cute.arch.block_idx()
        band = const_expr(max(1, BAND // (self.tile[0] * cM)))
        first, t = t // (band * tiles_n) * band, t % (band * tiles_n)
        height = cutlass.min(tiles_m - first, band)
        return (first + t % height) * cM + x, t // height * cN + y

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, tma_a, tma_s, tma_b, tma_d, mScaleB: cute.Tensor,
               sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout, sScaleA_layout: cute.Layout,
               sD_layout: cute.ComposedLayout):
        (bM, bN), (cM, cN), (wM, wN), eN = self.tile, self.cluster, self.wave, self.box[1]
        (copy_a, mA), (copy_s, mS), (copy_b, mB), (copy_d, mD) = tma_a, tma_s, tma_b, tma_d
        thread, _, _ = cute.arch.thread_idx()
        _, _, first = cute.arch.block_idx()
        _, _, step = cute.arch.grid_dim()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        sA = smem.allocate_tensor(Float8E4M3FN, sA_layout.outer, 1024, swizzle=sA_layout.inner)  # (bM, GROUP, stages)
        sB = smem.allocate_tensor(Float8E4M3FN, sB_layout.outer, 1024, swizzle=sB_layout.inner)  # (bN, GROUP, stages)
        sD = smem.allocate_tensor(BFloat16, sD_layout.outer, 1024, swizzle=sD_layout.inner)  # (wM, eN, slots)
        sScaleA = smem.allocate_tensor(Float32, sScaleA_layout, 128)  # (bM, 1, stages)
        sScaleB = smem.allocate_tensor(Float32, cute.make_layout((self.blocks, RING)))
        barriers = smem.allocate_array(Int64, 2 * self.stages)  # NOTE: without it they take 1 KiB in front of sA
        agents = [pipeline.CooperativeGroup(pipeline.Agent.Thread, threads) for threads in (1, self.threads)]
        producer, consumer = pipeline.PipelineTmaAsync.create(
            num_stages=self.stages, producer_group=agents[0], consumer_group=agents[1], tx_count=self.stage_bytes,
            cta_layout_vmnk=cute.make_layout((1, cM, cN, 1)), barrier_storage=barriers,
            enable_multicast_signaling=True).make_participants()
        tiles_m, tiles_n = cute.ceil_div(mD.shape[0], bM * cM), cute.ceil_div(mD.shape[1], bN * cN)
        tiles, k_tiles = tiles_m * tiles_n, cute.ceil_div(mA.shape[1], GROUP)

        if warp_idx >= self.threads // 32:
            if const_expr(bM > 64):
                cute.arch.setmaxregister_decrease(24)
            if warp_idx == self.threads // 32:  # one warp loads
                lane, count = thread % 32, Int32(0)  # count: K tiles so far
                for t in cutlass.range(first, tiles, step, unroll=1):
                    m, n = self.locate(t, tiles_m, tiles_n)
                    gA = cute.local_tile(mA, (bM, GROUP), (m, None))  # (bM, GROUP, k_tiles)
                    gS = cute.local_tile(mS, (bM, 1), (m, None))  # (bM, 1, k_tiles)
                    gB = cute.local_tile(mB, (bN, GROUP), (n, None))  # (bN, GROUP, k_tiles)
                    row_b = cutlass.min(n * bN // GROUP + lane, mScaleB.shape[0] - 1)  # past the edge: any will do
                    for k in cutlass.range(k_tiles, unroll=1):
                        # What was here RING K tiles ago has been read; the stage's barrier publishes the new.
                        if lane < self.blocks:
                            sScaleB[lane, count % RING] = mScaleB[row_b, k]
                        count += 1
                        cute.arch.sync_warp()
                        stage = producer.acquire_and_advance()
                        for copy, gX, sX, along in ((copy_a, gA, sA, "M"), (copy_s, gS, sScaleA, "M"),
                                                    (copy_b, gB, sB, "N")):
                            block_copy(copy, cute.group_modes(gX, 0, 2)[None, k],
                                       cute.group_modes(sX, 0, 2)[None, stage.index], tma_bar_ptr=stage.barrier,
                                       tma_multicast={"cluster_shape": self.cluster, "multicast_dim": along})
                producer.tail()
        else:
            if const_expr(bM > 64):
                cute.arch.setmaxregister_increase(240)
            thr_mma = mma.get_slice(cute.arch.make_warp_uniform(thread // 128) * 128)
            waves = const_expr([(i, j) for i in range(bM // wM) for j in range(bN // wN)])
            tCrA = [mma.make_fragment_A(thr_mma.partition_A(cute.local_tile(sA, (wM, GROUP), (i, 0, None))))
                    for i in range(bM // wM)]  # (MMA, M, K, stages) of each wave
            tCrB = [mma.make_fragment_B(thr_mma.partition_B(cute.local_tile(sB, (wN, GROUP), (j, 0, None))))
                    for j in range(bN // wN)]  # (MMA, N, K, stages)
            part = cute.make_rmem_tensor(thr_mma.partition_shape_C((wM, wN)), Float32)  # of one wave, one K tile
            totals = [cute.make_rmem_tensor_like(part) for _ in waves]
            row = warp_idx * 16 + thread % 32 // 4  # of a wave; this thread has accumulators in this one and 8 below
            stmatrix = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), BFloat16)
            r2s = cute.make_tiled_copy_S(stmatrix, cute.make_tiled_copy_C_atom(stmatrix, mma)).get_slice(thread)
            tDsD = r2s.partition_D(sD)  # (copy, M, N, slots)

            count = Int32(0)
            for t in cutlass.range(first, tiles, step, unroll=1):
                m, n = self.locate(t, tiles_m, tiles_n)
                for total in totals:
                    total.fill(0.0)
                for _ in cutlass.range(k_tiles, unroll=1):
                    stage = consumer.wait_and_advance()
                    for (i, j), total in zip(waves, totals, strict=True):
                        mma.set(warpgroup.Field.ACCUMULATE, False)
                        warpgroup.fence()
                        for block in cutlass.range_constexpr(GROUP // 32):
                            at = (None, None, block, stage.index)
                            cute.gemm(mma, part, tCrA[i][at], tCrB[j][at], part)
                            mma.set(warpgroup.Field.ACCUMULATE, True)
                        warpgroup.commit_group()
                        scales_a = [sScaleA[i * wM + row + 8 * h, 0, stage.index] for h in range(2)]
                        blocks = const_expr([j] if wN == GROUP else range(self.blocks))  # that the wave meets
                        scales_b = [sScaleB[block, count % RING] for block in blocks]
                        warpgroup.wait_group(0)
                        if const_expr((i, j) == waves[-1]):
                            stage.release()
                            count += 1
                        for c in cutlass.range_constexpr(0, wN, self.unit):
                            scale_b = scales_b[0]
                            for past in cutlass.range_constexpr(1, len(scales_b)):
                                is_past = n * bN % GROUP + c >= past * GROUP
                                scale_b = Float32(cutlass.select_(is_past, scales_b[past], scale_b))
                            scales = [scale_a * scale_b for scale_a in scales_a]
                            for v in cutlass.range_constexpr(c // 2, (c + self.unit) // 2):
                                total[v] += part[v] * scales[v // 2 % 2]  # two of this row, two of the one 8 below, ...

                for e in cutlass.range_constexpr(len(waves) * wN // eN):
                    (i, j), total, column = waves[e * eN // wN], totals[e * eN // wN], e % (wN // eN)
                    cute.arch.cp_async_bulk_wait_group(self.slots - 1, read=True)  # what was in this slot has left
                    cute.arch.sync_warp()
                    rD = cute.make_rmem_tensor(tDsD[None, None, None, 0].shape, BFloat16)
                    for v in cutlass.range_constexpr(eN // 2):  # accumulators of this thread in eN columns
                        rD[v] = total[eN // 2 * column + v].to(BFloat16)
                    cute.copy(r2s, rD, tDsD[None, None, None, e % self.slots])
                    cute.arch.fence_view_async_shared()
                    cute.arch.sync_warp()
                    sBox = cute.local_tile(sD[None, None, e % self.slots], self.box, (warp_idx, 0))
                    gBox = cute.local_tile(mD, self.box, ((m * bM + i * wM) // 16 + warp_idx,
                                                          (n * bN + j * wN) // eN + column))
                    block_copy(copy_d, cute.group_modes(sBox, 0, 2), cute.group_modes(gBox, 0, 2))
                    cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(config):
    M, N, K, blocks_n, blocks_k = (cute.sym_int() for _ in range(5))
    a, b = (make_fake_tensor(Float8E4M3FN, (rows, K), (cute.sym_int64(divisibility=16), 1), assumed_align=16)
            for rows in (M, N))
    scale_a = make_fake_tensor(Float32, (M, blocks_k), (1, cute.sym_int64(divisibility=4)), assumed_align=16)
    scale_b = make_fake_tensor(Float32, (blocks_n, blocks_k), (cute.sym_int64(), 1), assumed_align=4)
    d = make_fake_tensor(BFloat16, (M, N), (cute.sym_int64(divisibility=8), 1), assumed_align=16)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(BlockScaledGemm(config), a, scale_a, b, scale_b, d, Int32(1), stream,
                        options="--enable-tvm-ffi")


def _pick(m, n, sms):
    """The configuration whose waves take least: per wave, its area plus what a tile costs beside its products."""

    def cost(config):
        (bM, bN), (cM, cN), _ = config
        clusters = -(-m // (bM * cM)) * -(-n // (bN * cN))
        return -(-clusters // (sms // (cM * cN))) * (bM * bN + 64 * (bM + bN))

    return min(CONFIGS, key=cost)


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


def kernel_fn(a, scale_a, b, scale_b, *, config=None):
    """(a * scale_a) @ (b * scale_b).mT, (M, N) bfloat16; each scale is repeated over its block.

    a (M, K), b (N, K) float8_e4m3fn; scale_a (M, K / 128) and scale_b (N / 128, K / 128), rounded up, float32: see
    quantise(). scale_a that is not contiguous along M, its columns at multiples of 16 bytes, is copied first. config:
    one of CONFIGS. ValueError for what the kernel cannot take."""
    _require(a.ndim == b.ndim == 2 and a.shape[1] == b.shape[1],
             f"a must be (M, K) and b (N, K), got {tuple(a.shape)} and {tuple(b.shape)}")
    (m, k), n, fp8 = a.shape, len(b), torch.float8_e4m3fn
    _require(a.dtype == b.dtype == fp8, f"a and b must be {fp8}, got {a.dtype} and {b.dtype}: see quantise()")
    _require(k > 0 and k % 16 == 0, f"K must be a multiple of 16, got {k}: pad a and b with zeros along K")
    blocks = -(-k // GROUP)
    for name, scale, shape in (("scale_a", scale_a, (m, blocks)), ("scale_b", scale_b, (-(-n // GROUP), blocks))):
        _require(scale.dtype == torch.float32 and tuple(scale.shape) == shape,
                 f"{name} must be float32 {shape}, got {scale.dtype} {tuple(scale.shape)}: see quantise()")
    for name, x in (("a", a), ("b", b)):
        _require(x.stride(1) == 1 and x.stride(0) > 0 and (x.stride(0) % 16 == 0 or len(x) == 1)
                 and x.data_ptr() % 16 == 0,
                 f"{name} must be contiguous along K with rows at multiples of 16 bytes, got strides {x.stride()}")
    _require(not torch.is_grad_enabled() or not (scale_a.requires_grad or scale_b.requires_grad), "no backward")
    _require(a.is_cuda and a.device == b.device == scale_a.device == scale_b.device, "all must be on one CUDA device")
    out = torch.empty(m, -(-n // 8) * 8, dtype=torch.bfloat16, device=a.device)[:, :n]
    if m and n:
        sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        config = Config(*(config or _pick(m, n, sms)))
        a, b = (x.as_strided(x.shape, (x.stride(0) if len(x) > 1 else k, 1)) for x in (a, b))
        columns_fit = blocks == 1 or (scale_a.stride(1) % 4 == 0 and scale_a.stride(1) >= m)
        if not ((scale_a.stride(0) == 1 or m == 1) and columns_fit and scale_a.data_ptr() % 16 == 0):
            scale_a = scale_a.new_empty(blocks, -(-m // 4) * 4)[:, :m].mT.copy_(scale_a)
        scale_a = scale_a.as_strided((m, blocks), (1, scale_a.stride(1) if blocks > 1 else 4))
        (bM, bN), (cM, cN), _ = config
        clusters = min(-(-m // (bM * cM)) * -(-n // (bN * cN)), sms // (cM * cN))
        _compiled(config)(a, scale_a, b, scale_b.contiguous(), out, clusters)
    return out.contiguous()


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
