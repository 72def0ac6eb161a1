"""FP8 matrix product with block scales, D = (A * scale_a) @ (B * scale_b)^T, on Hopper (bound by the tensor cores).

Idea      The scheme of DeepSeek-V3: A has one float32 scale per row and 128 of K, B one per 128 x 128 block, so that an
          outlier costs its own block precision and no other. A K tile is one scale block. Its products begin at zero
          in one set of accumulators, and `total += part * (scale_a * scale_b)` promotes them to another: that
          applies the scales, and it ends the tensor core's sum, which keeps fewer bits than float32, after 128
          terms. While one warpgroup promotes, the other one multiplies.
Layout    A (M, K), B (N, K), float8_e4m3fn; scale_a (M, K / 128) contiguous along M, so that the scales of a K tile
          are one more TMA box of its stage; scale_b (N / 128, K / 128) is uniform in a tile: one load, before the
          wait for the stage. D (M, N) bfloat16. Two accumulators of 64 x 128 a warpgroup are what registers hold.
Requires  sm_90a; K a multiple of 16, contiguous along K (as 8-bit WGMMA wants), any M, N; scale_a's columns
          at multiples of 16 bytes. N that is no multiple of 8 costs a copy of D. No backward.
Verify    python scripts/verify_kernel.py examples/gemm_fp8_block_scaled.py
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float8E4M3FN, Float32, Int32, const_expr, pipeline
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


def get_inputs(m=4096, n=7168, k=2048, device="cuda"):
    """A (m, k), its scales, B (n, k), its scales; some columns of both are outliers."""
    outliers = 1 + 20 * (torch.rand(k, device=device) < 0.01)
    a, scale_a = quantise(torch.randn(m, k, device=device) * outliers, 1)
    b, scale_b = quantise(torch.randn(n, k, device=device) * outliers * k**-0.5, GROUP)
    return [a, scale_a, b, scale_b.contiguous()]


TEST_CASES = {
    "tails": {"m": 65, "n": 136, "k": 272},
    "odd": {"m": 33, "n": 77, "k": 144},
    "one_row": {"m": 1, "n": 264, "k": 1040},
    "waves": {"m": 4290, "n": 264, "k": 16},
}
BENCH_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in (
    (4096, 7168, 2048), (4096, 4096, 7168), (4096, 24576, 1536), (4096, 7168, 16384), (4096, 2112, 7168),
    (128, 7168, 2048), (64, 24576, 1536))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"QGMMA": ">0", "UTMALDG": ">0", "UTMASTG": ">0", "spill_bytes": 0}}


def flops(a, scale_a, b, scale_b):
    return 2 * a.numel() * b.shape[0]


# --- Device ----------------------------------------------------------------------------------------------------------

TILES = ((128, 128), (64, 128), (64, 64))  # (M, N) of a CTA; N divides GROUP
TUNING_SPACE = {"tile": TILES}
BAND = 8  # tiles along M that run side by side
BOX = (16, 32)  # of D, that a warp stores at a time


class BlockScaledGemm:
    """mD[M, N]: the sum of mScaleA[M, k] * mScaleB[N / GROUP, k] * (mA[M, K] @ mB[N, K]^T) over the blocks k of K."""

    def __init__(self, tile):
        self.tile, self.threads = tile, 2 * tile[0]
        self.stage_bytes = sum(tile) * GROUP + tile[0] * 4
        self.stages = (227 * 1024 - 4096 - 2 * tile[0] * BOX[1] * 2) // self.stage_bytes

    @cute.jit
    def __call__(self, mA: cute.Tensor, mScaleA: cute.Tensor, mB: cute.Tensor, mScaleB: cute.Tensor, mD: cute.Tensor,
                 ctas: Int32, stream: cuda.CUstream):
        (bM, bN), row, major = self.tile, LayoutEnum.ROW_MAJOR, OperandMajorMode.K
        mma = sm90.make_trivial_tiled_mma(Float8E4M3FN, Float8E4M3FN, major, major, Float32, (bM // 64, 1, 1), (64, bN))
        sA = sm90.make_smem_layout_a(row, (bM, bN, GROUP), Float8E4M3FN, self.stages)
        sB = sm90.make_smem_layout_b(row, (bM, bN, GROUP), Float8E4M3FN, self.stages)
        sScale = cute.make_layout((bM, 1, self.stages), stride=(1, bM, bM))
        sD = sm90.make_smem_layout_epi(BFloat16, row, BOX, 2, smem_trg_shape=(bM, BOX[1], 2))
        sBox = sm90.make_smem_layout_epi(BFloat16, row, BOX, 1)

        def tma(op, mX, smem, box):  # (copy atom, tensor of coordinates)
            return tuple(cpasync.make_tiled_tma_atom(op, mX, cute.slice_(smem, (None, None, 0)), box))

        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        self.kernel(mma, tma(load, mA, sA, (bM, GROUP)), tma(load, mScaleA, sScale, (bM, 1)),
                    tma(load, mB, sB, (bN, GROUP)), tma(store, mD, sBox, BOX), mScaleB, sA, sB, sScale, sD).launch(
            grid=(ctas, 1, 1), block=(self.threads + 128, 1, 1), min_blocks_per_mp=1, stream=stream)

    @cute.jit
    def locate(self, t, tiles_m, tiles_n):
        """(m, n) of the t-th tile: bands of tiles along M, so that those that run together share B in L2."""
        first, t = t // (BAND * tiles_n) * BAND, t % (BAND * tiles_n)
        height = cutlass.min(tiles_m - first, BAND)
        return first + t % height, t // height

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, tma_a, tma_s, tma_b, tma_d, mScaleB: cute.Tensor,
               sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout, sScale_layout: cute.Layout,
               sD_layout: cute.ComposedLayout):
        (bM, bN), (copy_a, mA), (copy_s, mS), (copy_b, mB), (copy_d, mD) = self.tile, tma_a, tma_s, tma_b, tma_d
        thread, _, _ = cute.arch.thread_idx()
        first, _, _ = cute.arch.block_idx()
        step, _, _ = cute.arch.grid_dim()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        sA = smem.allocate_tensor(Float8E4M3FN, sA_layout.outer, 1024, swizzle=sA_layout.inner)  # (bM, GROUP, stages)
        sB = smem.allocate_tensor(Float8E4M3FN, sB_layout.outer, 1024, swizzle=sB_layout.inner)  # (bN, GROUP, stages)
        sD = smem.allocate_tensor(BFloat16, sD_layout.outer, 1024, swizzle=sD_layout.inner)  # (bM, 32, 2)
        sScale = smem.allocate_tensor(Float32, sScale_layout, 128)  # (bM, 1, stages)
        agents = [pipeline.CooperativeGroup(pipeline.Agent.Thread, threads) for threads in (1, self.threads)]
        producer, consumer = pipeline.PipelineTmaAsync.create(
            num_stages=self.stages, producer_group=agents[0], consumer_group=agents[1], tx_count=self.stage_bytes,
            cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)), enable_multicast_signaling=True).make_participants()
        tiles_m, tiles_n = cute.ceil_div(mD.shape[0], bM), cute.ceil_div(mD.shape[1], bN)
        tiles, k_tiles = tiles_m * tiles_n, cute.ceil_div(mA.shape[1], GROUP)

        if warp_idx >= self.threads // 32:
            if const_expr(bM == 128):
                cute.arch.setmaxregister_decrease(24)
            if warp_idx == self.threads // 32:  # one warp loads
                for t in cutlass.range(first, tiles, step, unroll=1):
                    m, n = self.locate(t, tiles_m, tiles_n)
                    gA = cute.local_tile(mA, (bM, GROUP), (m, None))  # (bM, GROUP, k_tiles)
                    gS = cute.local_tile(mS, (bM, 1), (m, None))  # (bM, 1, k_tiles)
                    gB = cute.local_tile(mB, (bN, GROUP), (n, None))  # (bN, GROUP, k_tiles)
                    for k in cutlass.range(k_tiles, unroll=1):
                        stage = producer.acquire_and_advance()
                        for copy, gX, sX in ((copy_a, gA, sA), (copy_s, gS, sScale), (copy_b, gB, sB)):
                            block_copy(copy, cute.group_modes(gX, 0, 2)[None, k],
                                       cute.group_modes(sX, 0, 2)[None, stage.index], tma_bar_ptr=stage.barrier)
                producer.tail()
        else:
            if const_expr(bM == 128):
                cute.arch.setmaxregister_increase(240)
            thr_mma = mma.get_slice(cute.arch.make_warp_uniform(thread // 128) * 128)
            tCrA = mma.make_fragment_A(thr_mma.partition_A(sA))  # (MMA, M, K, stages)
            tCrB = mma.make_fragment_B(thr_mma.partition_B(sB))  # (MMA, N, K, stages)
            part = cute.make_rmem_tensor(thr_mma.partition_shape_C((bM, bN)), Float32)  # of one K tile
            total = cute.make_rmem_tensor_like(part)
            row = warp_idx * 16 + thread % 32 // 4  # of the tile; this thread has accumulators in this one and 8 below
            stmatrix = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), BFloat16)
            r2s = cute.make_tiled_copy_S(stmatrix, cute.make_tiled_copy_C_atom(stmatrix, mma)).get_slice(thread)
            tDsD = r2s.partition_D(sD)  # (copy, M, N, 2)

            for t in cutlass.range(first, tiles, step, unroll=1):
                m, n = self.locate(t, tiles_m, tiles_n)
                total.fill(0.0)
                for k in cutlass.range(k_tiles, unroll=1):
                    scale_b = mScaleB[n * bN // GROUP, k]
                    stage = consumer.wait_and_advance()
                    mma.set(warpgroup.Field.ACCUMULATE, False)
                    warpgroup.fence()
                    for block in cutlass.range_constexpr(GROUP // 32):
                        at = (None, None, block, stage.index)
                        cute.gemm(mma, part, tCrA[at], tCrB[at], part)
                        mma.set(warpgroup.Field.ACCUMULATE, True)
                    warpgroup.commit_group()
                    scales = [sScale[row + 8 * i, 0, stage.index] * scale_b for i in range(2)]
                    warpgroup.wait_group(0)
                    stage.release()
                    for v in cutlass.range_constexpr(cute.size(part)):  # two of this row, two of the one 8 below, ...
                        total[v] += part[v] * scales[v // 2 % 2]

                for e in cutlass.range_constexpr(bN // 32):  # 32 columns are 16 accumulators of a thread
                    cute.arch.cp_async_bulk_wait_group(1, read=True)  # the buffer of two slices ago has left
                    cute.arch.sync_warp()
                    rD = cute.make_rmem_tensor(tDsD[None, None, None, 0].shape, BFloat16)
                    for v in cutlass.range_constexpr(16):
                        rD[v] = total[16 * e + v].to(BFloat16)
                    cute.copy(r2s, rD, tDsD[None, None, None, e % 2])
                    cute.arch.fence_view_async_shared()
                    cute.arch.sync_warp()
                    sBox = cute.local_tile(sD[None, None, e % 2], BOX, (warp_idx, 0))
                    gBox = cute.local_tile(mD, BOX, (m * (bM // 16) + warp_idx, n * (bN // 32) + e))
                    block_copy(copy_d, cute.group_modes(sBox, 0, 2), cute.group_modes(gBox, 0, 2))
                    cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(tile):
    M, N, K, blocks_n, blocks_k = (cute.sym_int() for _ in range(5))
    a, b = (make_fake_tensor(Float8E4M3FN, (rows, K), (cute.sym_int64(divisibility=16), 1), assumed_align=16)
            for rows in (M, N))
    scale_a = make_fake_tensor(Float32, (M, blocks_k), (1, cute.sym_int64(divisibility=4)), assumed_align=16)
    scale_b = make_fake_tensor(Float32, (blocks_n, blocks_k), (cute.sym_int64(), 1), assumed_align=4)
    d = make_fake_tensor(BFloat16, (M, N), (cute.sym_int64(divisibility=8), 1), assumed_align=16)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(BlockScaledGemm(tile), a, scale_a, b, scale_b, d, Int32(1), stream,
                        options="--enable-tvm-ffi")


def _pick(m, n, sms):
    """The tile whose waves take least: per wave, its area plus what a tile costs beside its products."""

    def cost(tile):
        tiles = -(-m // tile[0]) * -(-n // tile[1])
        return -(-tiles // sms) * (tile[0] * tile[1] + 64 * sum(tile))

    return min(TILES, key=cost)


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


def kernel_fn(a, scale_a, b, scale_b, *, tile=None):
    """(a * scale_a) @ (b * scale_b).mT, (M, N) bfloat16; each scale is repeated over its block.

    a (M, K), b (N, K) float8_e4m3fn; scale_a (M, K / 128) contiguous along M and scale_b (N / 128, K / 128), rounded
    up, float32: see quantise(). tile: one of TILES. ValueError for what the kernel cannot take."""
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
    _require((scale_a.stride(0) == 1 or m == 1) and (scale_a.stride(1) % 4 == 0 or blocks == 1)
             and scale_a.data_ptr() % 16 == 0,
             f"scale_a must be contiguous along M, its columns at multiples of 4, got strides {scale_a.stride()}: "
             "scale_a.mT.contiguous().mT, with M padded to a multiple of 4")
    _require(not torch.is_grad_enabled() or not (scale_a.requires_grad or scale_b.requires_grad), "no backward")
    _require(a.is_cuda and a.device == b.device == scale_a.device == scale_b.device, "all must be on one CUDA device")
    out = torch.empty(m, -(-n // 8) * 8, dtype=torch.bfloat16, device=a.device)[:, :n]
    if m and n:
        sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        tile = tuple(tile or _pick(m, n, sms))
        a, b = (x.as_strided(x.shape, (x.stride(0) if len(x) > 1 else k, 1)) for x in (a, b))
        scale_a = scale_a.as_strided((m, blocks), (1, scale_a.stride(1) if blocks > 1 else 4))
        _compiled(tile)(a, scale_a, b, scale_b.contiguous(), out, min(-(-m // tile[0]) * -(-n // tile[1]), sms))
    return out.contiguous()


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
