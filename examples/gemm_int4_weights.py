"""int4 weights times bfloat16 activations, D = X @ (W * scale)^T, on Hopper (decode: bound by the bytes of W).

Idea      WGMMA takes its first operand from registers, so W is that one: D^T = W @ X^T. pack() lays the weights out as
          the instruction wants them in registers, once, when the model is loaded: a thread reads the 64 weights of a K
          tile as two 128-bit words, without a shuffle. `w & 15 | 0x4300` is the bfloat16 128 + w, for two at a time;
          one packed subtraction of 136 makes it the signed weight, exactly. The scales, one per row and 128 of K, do
          not touch the weights: the products of a K tile begin at zero, and `total += part * scale` is in float32.
          While one warpgroup unpacks or promotes, the other one multiplies: of the same CTA, or of the second on the
          SM where tiles are small.
Layout    X (M, K); packed: see pack(); scales (K / 128, N). A CTA owns a (features, tokens) tile; a stage has its
          weights (4 KiB per 64 features, contiguous in memory too), their scales and the tokens. D (M, N) leaves by
          stmatrix with transposition. N of a few thousand leaves SMs idle in decode: gemm_split_k.py has the remedy.
Requires  sm_90a; bfloat16; K a multiple of 128, N of 8; any M. No zero points. No backward.
Verify    python scripts/verify_kernel.py examples/gemm_int4_weights.py
Measured  H200: 0.89 to 2.19 times as fast as cublas bf16
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float32, Int32, const_expr, pipeline
from cutlass.block import block_copy
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------

GROUP = 128  # of K that share a scale

# What a row and a column number of W are made of, most significant first, and where pack() puts each of these digits:
# (g, c) is a thread of a warp, (high, low) a word and a step of 16 along K, (odd, right, lower) a nibble of the word.
ROW = {"block": -1, "warp": 4, "lower": 2, "g": 8}
COLUMN = {"group": -1, "high": 2, "low": 4, "right": 2, "c": 4, "odd": 2}
PACKED = ("block", "group", "high", "warp", "g", "c", "low", "odd", "right", "lower")


def pack(w):
    """W (N, K), integers from -8 to 7, as int32 (N / 64, K / 128, 2, 128, 4): N is filled up, K a multiple of 128."""
    w = torch.nn.functional.pad(w, (0, 0, 0, -len(w) % 64)).to(torch.int32) + 8
    names = [*ROW, *COLUMN]
    digits = w.reshape(-1, *list(ROW.values())[1:], w.shape[1] // GROUP, *list(COLUMN.values())[1:])
    nibbles = digits.permute([names.index(name) for name in PACKED]).reshape(-1, w.shape[1] // GROUP, 2, 128, 4, 8)
    return (nibbles << torch.arange(0, 32, 4, device=w.device, dtype=torch.int32)).sum(-1, dtype=torch.int32)


def unpack(packed):
    """The weights in pack(w), with the rows that fill up."""
    blocks, groups = packed.shape[:2]
    nibbles = packed[..., None] >> torch.arange(0, 32, 4, device=packed.device, dtype=torch.int32) & 15
    sizes = {**ROW, **COLUMN, "block": blocks, "group": groups}
    digits = nibbles.reshape([sizes[name] for name in PACKED]).permute([PACKED.index(name) for name in (*ROW, *COLUMN)])
    return digits.reshape(blocks * 64, groups * GROUP) - 8


def reference_fn(x, packed, scales):
    wide = torch.promote_types(x.dtype, torch.float32)
    w = unpack(packed)[: scales.shape[1]].to(wide) * scales.mT.repeat_interleave(GROUP, 1).to(wide)
    return (x.to(wide) @ w.mT).to(x.dtype)


def get_inputs(m=16, n=7168, k=2048, device="cuda"):
    """X (m, k), packed weights (n, k), scales (k / 128, n)."""
    packed = pack(torch.randint(-8, 8, (n, k), device=device))
    scales = (torch.rand(k // GROUP, n, device=device) + 0.5) * (20 * k) ** -0.5
    return [torch.randn(m, k, dtype=torch.bfloat16, device=device), packed, scales.to(torch.bfloat16)]


TEST_CASES = {
    "one_token": {"m": 1, "n": 136, "k": 384},
    "decode": {"m": 17, "n": 72, "k": 128},
    "middle": {"m": 60, "n": 8456, "k": 128},
    "large": {"m": 600, "n": 3320, "k": 128},
}
BENCH_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in (
    (1, 28672, 4096), (16, 28672, 4096), (16, 7168, 2048), (64, 28672, 4096), (256, 14336, 4096), (4096, 7168, 2048),
    (4096, 14336, 4096))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">0", "UTMASTG": ">0", "spill_bytes": 0}}


def flops(x, packed, scales):
    return 2 * x.numel() * scales.shape[1]


# --- Device ----------------------------------------------------------------------------------------------------------

TILES = ((128, 128), (128, 64), (64, 16))  # (features, tokens) of a CTA
TUNING_SPACE = {"tile": TILES}
BAND = 8  # tiles along the features that run side by side


def ctas_per_sm(tile):
    return 128 // tile[0]  # two warpgroups either way


class Int4Gemm:
    """mD[N, M] = (weights * mScale[N, K / GROUP]) @ mX[M, K]^T; mW (256, 4, N / 64, K / GROUP): pack()'s words."""

    def __init__(self, tile):
        self.tile, self.threads, self.box = tile, 2 * tile[0], (16, min(tile[1], 32))
        self.stage_bytes = tile[0] * GROUP // 2 + tile[0] * 2 + tile[1] * GROUP * 2
        self.ctas = ctas_per_sm(tile)
        self.stages = (228 * 1024 // self.ctas - 4096 - 2 * tile[0] * self.box[1] * 2) // self.stage_bytes

    @cute.jit
    def __call__(self, mX: cute.Tensor, mW: cute.Tensor, mScale: cute.Tensor, mD: cute.Tensor, ctas: Int32,
                 stream: cuda.CUstream):
        (bF, bT), row, column, major = self.tile, LayoutEnum.ROW_MAJOR, LayoutEnum.COL_MAJOR, OperandMajorMode.K
        mma = sm90.make_trivial_tiled_mma(BFloat16, BFloat16, major, major, Float32, (bF // 64, 1, 1), (64, bT),
                                          a_source=warpgroup.OperandSource.RMEM)
        sX = sm90.make_smem_layout_b(row, (bF, bT, GROUP), BFloat16, self.stages)
        sW = cute.make_ordered_layout((256, 4, bF // 64, 1, self.stages), order=(0, 1, 2, 3, 4))
        sScale = cute.make_ordered_layout((bF, 1, self.stages), order=(0, 1, 2))
        sD = sm90.make_smem_layout_epi(BFloat16, column, self.box, 2, smem_trg_shape=(bF, self.box[1], 2))
        sBox = sm90.make_smem_layout_epi(BFloat16, column, self.box, 1)

        def tma(op, mT, smem, box):  # (copy atom, tensor of coordinates)
            return tuple(cpasync.make_tiled_tma_atom(op, mT, cute.slice_(smem, (*(None,) * len(box), 0)), box))

        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        self.kernel(mma, tma(load, mX, sX, (bT, GROUP)), tma(load, mW, sW, (256, 4, bF // 64, 1)),
                    tma(load, mScale, sScale, (bF, 1)), tma(store, mD, sBox, self.box), sX, sW, sScale, sD).launch(
            grid=(ctas, 1, 1), block=(self.threads + 128, 1, 1), min_blocks_per_mp=self.ctas, stream=stream,
            preferred_smem_carveout=100)

    @cute.jit
    def locate(self, t, tiles_f, tiles_t):
        """(features, tokens) of the t-th tile: bands along the features, so that tiles that run together share both."""
        first, t = t // (BAND * tiles_t) * BAND, t % (BAND * tiles_t)
        height = cutlass.min(tiles_f - first, BAND)
        return first + t % height, t // height

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, tma_x, tma_w, tma_s, tma_d, sX_layout: cute.ComposedLayout,
               sW_layout: cute.Layout, sScale_layout: cute.Layout, sD_layout: cute.ComposedLayout):
        (bF, bT), (copy_x, mX), (copy_w, mW), (copy_s, mS), (copy_d, mD) = self.tile, tma_x, tma_w, tma_s, tma_d
        thread, _, _ = cute.arch.thread_idx()
        first, _, _ = cute.arch.block_idx()
        step, _, _ = cute.arch.grid_dim()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        sX = smem.allocate_tensor(BFloat16, sX_layout.outer, 1024, swizzle=sX_layout.inner)  # (bT, GROUP, stages)
        sD = smem.allocate_tensor(BFloat16, sD_layout.outer, 1024, swizzle=sD_layout.inner)  # (bF, box[1], 2)
        sW = smem.allocate_tensor(Int32, sW_layout, 128)  # (256, 4, bF / 64, 1, stages)
        sScale = smem.allocate_tensor(BFloat16, sScale_layout, 128)  # (bF, 1, stages)
        agents = [pipeline.CooperativeGroup(pipeline.Agent.Thread, threads) for threads in (1, self.threads)]
        producer, consumer = pipeline.PipelineTmaAsync.create(
            num_stages=self.stages, producer_group=agents[0], consumer_group=agents[1], tx_count=self.stage_bytes,
            cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)), enable_multicast_signaling=True).make_participants()
        tiles_f, tiles_t = cute.ceil_div(mD.shape[0], bF), cute.ceil_div(mD.shape[1], bT)
        tiles, k_tiles = tiles_f * tiles_t, mW.shape[3]

        if warp_idx >= self.threads // 32:
            if const_expr(bF == 128):
                cute.arch.setmaxregister_decrease(24)
            if warp_idx == self.threads // 32:  # one warp loads
                for t in cutlass.range(first, tiles, step, unroll=1):
                    f, token = self.locate(t, tiles_f, tiles_t)
                    gW = cute.local_tile(mW, (256, 4, bF // 64, 1), (0, 0, f, None))  # (256, 4, bF / 64, 1, k_tiles)
                    gS = cute.local_tile(mS, (bF, 1), (f, None))  # (bF, 1, k_tiles)
                    gX = cute.local_tile(mX, (bT, GROUP), (token, None))  # (bT, GROUP, k_tiles)
                    for k in cutlass.range(k_tiles, unroll=1):
                        stage = producer.acquire_and_advance()
                        for copy, gT, sT in ((copy_w, gW, sW), (copy_s, gS, sScale), (copy_x, gX, sX)):
                            modes = const_expr(cute.rank(gT) - 1)
                            block_copy(copy, cute.group_modes(gT, 0, modes)[None, k],
                                       cute.group_modes(sT, 0, modes)[None, stage.index], tma_bar_ptr=stage.barrier)
                producer.tail()
        else:
            if const_expr(bF == 128):
                cute.arch.setmaxregister_increase(240)
            group = cute.arch.make_warp_uniform(thread // 128)
            thr_mma = mma.get_slice(thread)
            tCrX = mma.make_fragment_B(mma.get_slice(group * 128).partition_B(sX))  # (MMA, N, K, stages)
            rA = mma.make_fragment_A(thr_mma.partition_shape_A((bF, GROUP)))  # (MMA, M, K), weights as bfloat16
            pairs = cute.make_tensor(cute.recast_ptr(rA.iterator, dtype=Int32), cute.make_layout((4, 8)))  # (MMA, K)
            words = cute.make_tensor(sW.iterator, cute.make_ordered_layout(
                (4, 128, 2, bF // 64, self.stages), order=(0, 1, 2, 3, 4)))[None, thread % 128, None, group, None]
            part = cute.make_rmem_tensor(thr_mma.partition_shape_C((bF, bT)), Float32)  # of one K tile
            total = cute.make_rmem_tensor_like(part)
            row = warp_idx * 16 + thread % 32 // 4  # of the tile; this thread has accumulators in this one and 8 below
            stmatrix = cute.make_copy_atom(warp.StMatrix8x8x16bOp(True, 4), BFloat16)
            r2s = cute.make_tiled_copy_S(stmatrix, cute.make_tiled_copy_C_atom(stmatrix, mma)).get_slice(thread)
            tDsD = r2s.partition_D(sD)  # (copy, M, N, 2)
            values = const_expr(self.box[1] // 2)  # accumulators of a thread in the columns of a box

            for t in cutlass.range(first, tiles, step, unroll=1):
                f, token = self.locate(t, tiles_f, tiles_t)
                total.fill(0.0)
                for _ in cutlass.range(k_tiles, unroll=1):
                    stage = consumer.wait_and_advance()
                    rW = cute.make_rmem_tensor((4, 2), Int32)
                    cute.autovec_copy(words[None, None, stage.index], rW)
                    scales = [sScale[row + 8 * i, 0, stage.index].to(Float32) for i in range(2)]
                    for j in cutlass.range_constexpr(8):
                        for i in cutlass.range_constexpr(4):
                            pairs[i, j] = (rW[j] >> 4 * i) & 0x000F000F | 0x43004300
                    rA.store(rA.load() - BFloat16(136))
                    mma.set(warpgroup.Field.ACCUMULATE, False)
                    warpgroup.fence()
                    for block in cutlass.range_constexpr(GROUP // 16):
                        cute.gemm(mma, part, rA[None, None, block], tCrX[None, None, block, stage.index], part)
                        mma.set(warpgroup.Field.ACCUMULATE, True)
                    warpgroup.commit_group()
                    warpgroup.wait_group(0)
                    stage.release()
                    for v in cutlass.range_constexpr(cute.size(part)):  # two of this row, two of the one 8 below, ...
                        total[v] += part[v] * scales[v // 2 % 2]

                for e in cutlass.range_constexpr(bT // self.box[1]):
                    cute.arch.cp_async_bulk_wait_group(1 if bT > self.box[1] else 0, read=True)
                    cute.arch.sync_warp()
                    rD = cute.make_rmem_tensor(tDsD[None, None, None, 0].shape, BFloat16)
                    for v in cutlass.range_constexpr(values):
                        rD[v] = total[values * e + v].to(BFloat16)
                    cute.copy(r2s, rD, tDsD[None, None, None, e % 2])
                    cute.arch.fence_view_async_shared()
                    cute.arch.sync_warp()
                    sBox = cute.local_tile(sD[None, None, e % 2], self.box, (warp_idx, 0))
                    box = (f * (bF // 16) + warp_idx, token * (bT // self.box[1]) + e)
                    gBox = cute.local_tile(mD, self.box, box)
                    block_copy(copy_d, cute.group_modes(sBox, 0, 2), cute.group_modes(gBox, 0, 2))
                    cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(tile):
    M, N, K, blocks, groups = (cute.sym_int() for _ in range(5))
    x = make_fake_tensor(BFloat16, (M, K), (cute.sym_int64(divisibility=8), 1), assumed_align=16)
    words = make_fake_tensor(Int32, (256, 4, blocks, groups), (1, 256, cute.sym_int64(divisibility=1024), 1024),
                             assumed_align=16)
    scales, d = (make_fake_tensor(BFloat16, shape, (1, cute.sym_int64(divisibility=8)), assumed_align=16)
                 for shape in ((N, groups), (N, M)))
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(Int4Gemm(tile), x, words, scales, d, Int32(1), stream, options="--enable-tvm-ffi")


def _pick(m, n, sms):
    """The tile whose waves take least: per wave of an SM, its area plus what a tile costs beside its products."""

    def cost(tile):
        tiles, ctas = -(-n // tile[0]) * -(-m // tile[1]), ctas_per_sm(tile)
        return -(-tiles // (sms * ctas)) * ctas * (tile[0] * tile[1] + 64 * sum(tile))

    return min(TILES, key=cost)


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


def kernel_fn(x, packed, scales, *, tile=None):
    """x @ (w * scales).mT, (M, N) bfloat16: x (M, K), packed = pack(w) of w (N, K), scales (K / 128, N) bfloat16.

    tile: one of TILES. ValueError for what the kernel cannot take."""
    _require(x.ndim == scales.ndim == 2 and x.dtype == scales.dtype == torch.bfloat16,
             f"x and scales must be bfloat16 matrices, got {x.dtype} {tuple(x.shape)}, {scales.dtype}")
    (m, k), n, groups = x.shape, scales.shape[1], x.shape[1] // GROUP
    _require(k % GROUP == 0 and k > 0, f"K must be a multiple of {GROUP}, got {k}: pad x and w with zeros along K")
    _require(n % 8 == 0, f"N must be a multiple of 8, got {n}: add rows to w, and columns to scales")
    _require(packed.dtype == torch.int32 and packed.shape == (-(-n // 64), groups, 2, 128, 4) and len(scales) == groups,
             f"packed must be pack(w) of w ({n}, {k}) and scales ({groups}, {n}), got {packed.dtype} "
             f"{tuple(packed.shape)} and {tuple(scales.shape)}")
    _require(x.stride(1) == 1 and x.stride(0) > 0 and (x.stride(0) % 8 == 0 or m == 1),
             f"x must be contiguous along K with rows at multiples of 16 bytes, got strides {x.stride()}")
    _require(packed.is_contiguous() and scales.is_contiguous(), "packed and scales must be contiguous")
    _require(all(t.data_ptr() % 16 == 0 for t in (x, packed, scales)), "all must begin at multiples of 16 bytes")
    _require(not torch.is_grad_enabled() or not (x.requires_grad or scales.requires_grad), "no backward: detach x")
    _require(x.is_cuda and x.device == packed.device == scales.device, "all must be on one CUDA device")
    out = x.new_empty(m, n)
    if m and n:
        sms = torch.cuda.get_device_properties(x.device).multi_processor_count
        tile = tuple(tile or _pick(m, n, sms))
        tiles = -(-n // tile[0]) * -(-m // tile[1])
        words = packed.as_strided((256, 4, len(packed), groups), (1, 256, 1024 * groups, 1024))
        x = x.as_strided((m, k), (x.stride(0) if m > 1 else k, 1))
        _compiled(tile)(x, words, scales.mT, out.mT, min(tiles, sms * ctas_per_sm(tile)))
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
