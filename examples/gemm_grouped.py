"""Grouped matrix product of a mixture of experts on Hopper: rows of X, sorted by expert, times their expert's matrix.

Idea      Only the device knows how many tokens an expert got, and nobody waits for the host: a grid of persistent CTAs
          reads the offsets and each walks over the experts, taking every grid-th tile of the line on which all their
          tiles lie. An empty expert has no tile; an expert with one token costs one tile.
          A tile that reaches past its expert's last row loads rows of the next expert, which is harmless, and must not
          store them. TMA does that too: a box is cut off at the edge of the tensor, so D's descriptor makes an edge of
          any row. Its modes (i, p), of 16 and T + 1 rows, have the same stride; row i of the box, moved down to
          i + 16 - left, falls off when i >= left, and p takes the move back, which needs 16 rows of room before D.
          (Triton's tools/ragged_tma.py gives a descriptor two modes of one stride for the same end.)
Layout    X (T, K), W (E, N, K), ends (E) int32: expert e has the rows ends[e - 1] to ends[e], as in torch._grouped_mm.
          D (T, N); rows past ends[-1] are not written. One warp loads, one or two warpgroups multiply 64 rows each.
Requires  sm_90a; bfloat16 or float16; K a multiple of 8, contiguous rows. N that is no multiple of 8 costs a copy of D.
          Ends that decrease or exceed T are read as if clamped. No backward.
Verify    python scripts/verify_kernel.py examples/gemm_grouped.py
Measured  H200: 1.06 to 1.22 times as fast as torch._grouped_mm
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, const_expr, pipeline
from cutlass.block import block_copy
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------


def reference_fn(x, w, ends):
    bounds = [0, *ends.tolist()]
    return torch.cat([x[bounds[e] : bounds[e + 1]] @ w[e].mT for e in range(len(w))])


def get_inputs(tokens=4096, experts=8, n=7168, k=2048, sizes=None, dtype=torch.bfloat16, device="cuda"):
    """X (tokens, k), W (experts, n, k), ends; sizes: the tokens of each expert, else each token's expert is random."""
    if sizes is None:
        sizes = torch.bincount(torch.randint(experts, (tokens,)), minlength=experts).tolist()
    x = torch.randn(sum(sizes), k, dtype=dtype, device=device)
    ends = torch.tensor(sizes, device=device).cumsum(0).to(torch.int32)
    return [x, torch.randn(len(sizes), n, k, dtype=dtype, device=device), ends]


TEST_CASES = {
    "ragged": {"sizes": [5, 0, 130, 1, 64], "n": 136, "k": 72},
    "one_has_all": {"sizes": [0, 0, 140, 0], "n": 264, "k": 64},
    "odd": {"sizes": [33, 7, 0], "n": 77, "k": 136, "dtype": torch.float16},
    "large_tiles": {"sizes": [8500, 0, 97], "n": 248, "k": 8},
    "waves": {"tokens": 200, "experts": 150, "n": 8, "k": 8},
    "nobody": {"sizes": [0, 0], "n": 8, "k": 8},
}
BENCH_CASES = {f"{t} tokens, {e} experts {n}x{k}": {"tokens": t, "experts": e, "n": n, "k": k} for t, e, n, k in (
    (4096, 8, 7168, 2048), (16384, 8, 4096, 7168), (8192, 32, 7168, 2048), (256, 32, 4096, 7168),
    (8192, 128, 1536, 2048), (64, 8, 14336, 4096))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">0", "UTMASTG": ">0", "spill_bytes": 0}}


def flops(x, w, ends):
    return 2 * x.numel() * w.shape[1]


# --- Device ----------------------------------------------------------------------------------------------------------

TILES = ((128, 256), (128, 128), (64, 128))  # (M, N) of a CTA
TUNING_SPACE = {"tile": TILES}
BLOCK_K = 64  # 64 elements are 128 bytes, the widest swizzle
BAND = 8  # tiles along M that run side by side
BOX = (16, 32)  # of D, that a warp stores at a time
DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16}


class GroupedGemm:
    """D[start:end] = X[start:end] @ W[e]^T for each expert e, whose rows are start = mEnds[e - 1] to end = mEnds[e].

    mX (T, K), mW (N, K, E), mEnds (E); mD (16, N, T + 1) holds row r of D at (i, :, p) wherever i + p = r + 16."""

    def __init__(self, tile):
        self.tile, self.threads = tile, 2 * tile[0]
        epi_bytes = 2 * tile[0] * BOX[1] * 2
        self.stages = (227 * 1024 - 2048 - epi_bytes) // (sum(tile) * BLOCK_K * 2)

    @cute.jit
    def __call__(self, mX: cute.Tensor, mW: cute.Tensor, mEnds: cute.Tensor, mD: cute.Tensor, ctas: Int32,
                 stream: cuda.CUstream):
        (bM, bN), self.dtype, row, major = self.tile, mX.element_type, LayoutEnum.ROW_MAJOR, OperandMajorMode.K
        mma = sm90.make_trivial_tiled_mma(self.dtype, self.dtype, major, major, Float32, (bM // 64, 1, 1), (64, bN))
        sX = sm90.make_smem_layout_a(row, (bM, bN, BLOCK_K), self.dtype, self.stages)
        sW = sm90.make_smem_layout_b(row, (bM, bN, BLOCK_K), self.dtype, self.stages)
        sD = sm90.make_smem_layout_epi(self.dtype, row, BOX, 2, smem_trg_shape=(bM, BOX[1], 2))
        sBox = sm90.make_smem_layout_epi(self.dtype, row, BOX, 1)

        def tma(op, mT, smem, box):  # (copy atom, tensor of coordinates)
            return tuple(cpasync.make_tiled_tma_atom(op, mT, cute.slice_(smem, (None, None, 0)), box))

        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        self.kernel(mma, tma(load, mX, sX, (bM, BLOCK_K)), tma(load, mW, sW, (bN, BLOCK_K)), tma(store, mD, sBox, BOX),
                    mEnds, sX, sW, sD).launch(
            grid=(ctas, 1, 1), block=(self.threads + 128, 1, 1), min_blocks_per_mp=1, stream=stream)

    @cute.jit
    def locate(self, t, tiles_m, tiles_n):
        """(m, n) of the t-th tile of an expert: bands of tiles along M, so that those that run together share W."""
        first, t = t // (BAND * tiles_n) * BAND, t % (BAND * tiles_n)
        height = cutlass.min(tiles_m - first, BAND)
        return first + t % height, t // height

    @cute.jit
    def bound(self, mX, mEnds, e, start):
        """Where the rows of expert e end, and how many tiles they have along M."""
        end = cutlass.max(cutlass.min(mEnds[e], mX.shape[0]), start)
        return end, cute.ceil_div(end - start, self.tile[0])

    @cute.jit
    def skip(self, first, tiles, step):
        """This CTA's first tile, counted from the next expert's first, when it has done its own of these."""
        return first + cute.ceil_div(cutlass.max(tiles - first, 0), step) * step - tiles

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, tma_x, tma_w, tma_d, mEnds: cute.Tensor, sX_layout: cute.ComposedLayout,
               sW_layout: cute.ComposedLayout, sD_layout: cute.ComposedLayout):
        (bM, bN), (copy_x, mX), (copy_w, mW), (copy_d, mD) = self.tile, tma_x, tma_w, tma_d
        thread, _, _ = cute.arch.thread_idx()
        first, _, _ = cute.arch.block_idx()
        step, _, _ = cute.arch.grid_dim()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        sX = smem.allocate_tensor(self.dtype, sX_layout.outer, 1024, swizzle=sX_layout.inner)  # (bM, BLOCK_K, stages)
        sW = smem.allocate_tensor(self.dtype, sW_layout.outer, 1024, swizzle=sW_layout.inner)  # (bN, BLOCK_K, stages)
        sD = smem.allocate_tensor(self.dtype, sD_layout.outer, 1024, swizzle=sD_layout.inner)  # (bM, 32, 2)
        agents = [pipeline.CooperativeGroup(pipeline.Agent.Thread, threads) for threads in (1, self.threads)]
        producer, consumer = pipeline.PipelineTmaAsync.create(
            num_stages=self.stages, producer_group=agents[0], consumer_group=agents[1],
            tx_count=(bM + bN) * BLOCK_K * 2, cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
            enable_multicast_signaling=True).make_participants()
        experts, tiles_n, k_tiles = mEnds.shape[0], cute.ceil_div(mW.shape[0], bN), cute.ceil_div(mW.shape[1], BLOCK_K)
        start = Int32(0)

        if warp_idx >= self.threads // 32:
            if const_expr(bM == 128):
                cute.arch.setmaxregister_decrease(24)
            if warp_idx == self.threads // 32:  # one warp loads
                for e in cutlass.range(experts, unroll=1):
                    end, tiles_m = self.bound(mX, mEnds, e, start)
                    for t in cutlass.range(first, tiles_m * tiles_n, step, unroll=1):
                        m, n = self.locate(t, tiles_m, tiles_n)
                        gX = cute.local_tile(cute.domain_offset((start, 0), mX), (bM, BLOCK_K), (m, None))
                        gW = cute.local_tile(mW[None, None, e], (bN, BLOCK_K), (n, None))  # (bN, BLOCK_K, k_tiles)
                        for k in cutlass.range(k_tiles, unroll=1):
                            stage = producer.acquire_and_advance()
                            for copy, gT, sT in ((copy_x, gX, sX), (copy_w, gW, sW)):
                                block_copy(copy, cute.group_modes(gT, 0, 2)[None, k],
                                           cute.group_modes(sT, 0, 2)[None, stage.index], tma_bar_ptr=stage.barrier)
                    first, start = self.skip(first, tiles_m * tiles_n, step), end
                producer.tail()
        else:
            if const_expr(bM == 128):
                cute.arch.setmaxregister_increase(240)
            thr_mma = mma.get_slice(cute.arch.make_warp_uniform(thread // 128) * 128)
            tCrX = mma.make_fragment_A(thr_mma.partition_A(sX))  # (MMA, M, K, stages)
            tCrW = mma.make_fragment_B(thr_mma.partition_B(sW))  # (MMA, N, K, stages)
            acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((bM, bN)), Float32)
            stmatrix = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), self.dtype)
            r2s = cute.make_tiled_copy_S(stmatrix, cute.make_tiled_copy_C_atom(stmatrix, mma)).get_slice(thread)
            tDsD = r2s.partition_D(sD)  # (copy, M, N, 2)

            for e in cutlass.range(experts, unroll=1):
                end, tiles_m = self.bound(mX, mEnds, e, start)
                for t in cutlass.range(first, tiles_m * tiles_n, step, unroll=1):
                    m, n = self.locate(t, tiles_m, tiles_n)
                    behind = consumer.clone()
                    mma.set(warpgroup.Field.ACCUMULATE, False)
                    for k in cutlass.range(k_tiles, unroll=1):
                        stage = consumer.wait_and_advance()
                        warpgroup.fence()
                        for block in cutlass.range_constexpr(BLOCK_K // 16):
                            at = (None, None, block, stage.index)
                            cute.gemm(mma, acc, tCrX[at], tCrW[at], acc)
                            mma.set(warpgroup.Field.ACCUMULATE, True)
                        warpgroup.commit_group()
                        warpgroup.wait_group(1)  # the products of the previous stage are done: it can be loaded again
                        if k > 0:
                            behind.release()
                            behind.advance()
                    warpgroup.wait_group(0)
                    behind.release()

                    row = start + m * bM + 16 * warp_idx  # the first of D that this warp stores
                    left = cutlass.max(cutlass.min(end - row, 16), 0)
                    gD = cute.domain_offset((16 - left, 0), mD[None, None, row + left])
                    for i in cutlass.range_constexpr(bN // 32):  # 32 columns are 16 accumulators of a thread
                        cute.arch.cp_async_bulk_wait_group(1, read=True)  # the buffer of two slices ago has left
                        cute.arch.sync_warp()
                        rD = cute.make_rmem_tensor(tDsD[None, None, None, 0].shape, self.dtype)
                        for v in cutlass.range_constexpr(16):
                            rD[v] = acc[16 * i + v].to(self.dtype)
                        cute.copy(r2s, rD, tDsD[None, None, None, i % 2])
                        cute.arch.fence_view_async_shared()
                        cute.arch.sync_warp()
                        sBox = cute.local_tile(sD[None, None, i % 2], BOX, (warp_idx, 0))
                        gBox = cute.local_tile(gD, BOX, (0, n * (bN // 32) + i))
                        block_copy(copy_d, cute.group_modes(sBox, 0, 2), cute.group_modes(gBox, 0, 2))
                        cute.arch.cp_async_bulk_commit_group()
                first, start = self.skip(first, tiles_m * tiles_n, step), end
            cute.arch.cp_async_bulk_wait_group(0, read=True)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(tile, dtype):
    def fake(*shape):  # contiguous along the mode 1
        strides = [cute.sym_int64(divisibility=8) for _ in shape]
        strides[1] = 1
        return make_fake_tensor(DTYPES[dtype], shape, tuple(strides), assumed_align=16)

    T, N, K, E, P = (cute.sym_int() for _ in range(5))
    ends = make_fake_tensor(Int32, (E,), (1,), assumed_align=4)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(GroupedGemm(tile), fake(T, K), fake(N, K, E), ends, fake(16, N, P), Int32(1), stream,
                        options="--enable-tvm-ffi")


def _pick(tokens, experts, n, sms):
    """The tile whose waves take least if tokens are spread evenly: per wave, its area plus what a tile costs beside."""

    def cost(tile):
        tiles = experts * -(-tokens // (experts * tile[0])) * -(-n // tile[1])
        return -(-tiles // sms) * (tile[0] * tile[1] + 64 * sum(tile))

    return min(TILES, key=cost)


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


def kernel_fn(x, w, ends, *, tile=None):
    """Rows ends[e - 1] to ends[e] of x (T, K) times w[e].mT, w (E, N, K), ends (E,) int32: (T, N), in x's dtype.

    The host never reads ends. tile: one of TILES, by default the one that fits an even spread. ValueError for what the
    kernel cannot take."""
    _require(x.ndim == 2 and w.ndim == 3 and x.shape[1] == w.shape[2] and len(w) > 0,
             f"x must be (T, K) and w (E, N, K), E > 0, got {tuple(x.shape)} and {tuple(w.shape)}")
    _require(x.dtype in DTYPES and w.dtype == x.dtype, f"x and w must be bfloat16 or float16, got {x.dtype}, {w.dtype}")
    _require(ends.dtype == torch.int32 and ends.shape == w.shape[:1] and ends.is_contiguous(),
             f"ends must be int32 ({len(w)},): the cumulative sums of the experts' tokens, ends.to(torch.int32)")
    (tokens, k), (experts, n, _) = x.shape, w.shape
    _require(k > 0 and k % 8 == 0, f"K must be a multiple of 8, got {k}: pad x and w with zeros along K")
    for name, t in (("x", x), ("w", w)):
        _require(t.stride(-1) == 1 and all(s > 0 and s % 8 == 0 for s in t.stride()[:-1]) and t.data_ptr() % 16 == 0,
                 f"{name} must have contiguous rows at multiples of 16 bytes, got strides {t.stride()}: clone it")
    _require(not torch.is_grad_enabled() or not (x.requires_grad or w.requires_grad), "no backward: detach x and w")
    _require(x.is_cuda and x.device == w.device == ends.device, "x, w and ends must be on one CUDA device")
    out = x.new_empty(16 + tokens, -(-n // 8) * 8)
    if tokens and n:
        sms = torch.cuda.get_device_properties(x.device).multi_processor_count
        tile = tuple(tile or _pick(tokens, experts, n, sms))
        most = (tokens // tile[0] + min(experts, tokens)) * -(-n // tile[1])  # each expert may have a partial tile
        rows = out.as_strided((16, n, 1 + tokens), (out.stride(0), 1, out.stride(0)))
        _compiled(tile, x.dtype)(x, w.permute(1, 2, 0), ends, rows, min(most, sms))
    return out[16:, :n].contiguous()


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
