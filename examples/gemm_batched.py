"""Batched matrix product, D[l] = A[l] @ B[l]^T, on Hopper (bound by the tensor cores, or by bytes where K is small).

Idea      The batch is the third dimension of the TMA descriptors: one launch whose persistent CTAs walk over
          (batch, tile), so that a batch of small products fills the machine as one large product does. A box ends at
          the edge of its matrix, also where the next one follows in memory: neither loads nor stores reach into it.
          An operand without a batch serves every product: its last index stays 0. If only B has none, A's batch
          folds into its rows and nothing batched is left.
Layout    A (L, M, K) or (M, K), B (L, N, K) or (N, K), each contiguous along K or along M, N: y of torch.bmm(x, y) is
          y.mT here. D (L, M, N). One warp loads a ring of K tiles, two warpgroups multiply 64 rows each and store
          while the next tile's loads run. templates/gemm_sm90.py has clusters, split K and small tiles on top of this.
Requires  sm_90a; bfloat16 or float16; any L, M, N, K whose rows, and matrices, begin at multiples of 16 bytes. N that
          is no multiple of 8 costs a copy of D. No backward.
Verify    python scripts/verify_kernel.py examples/gemm_batched.py
Measured  H200: 1.01 to 1.04 times as fast as cublas
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, pipeline
from cutlass.block import block_copy
from cutlass.cute.nvgpu import cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------


def reference_fn(a, b):
    return a @ b.mT


def get_inputs(batch=64, m=1024, n=1024, k=128, majors="kk", shared="", dtype=torch.bfloat16, device="cuda"):
    """A (batch, m, k), B (batch, n, k), contiguous along `majors`; those named in `shared` have no batch."""

    def random(name, rows, major):
        lead = () if name in shared else (batch,)
        shape = (*lead, rows, k) if major == "k" else (*lead, k, rows)
        x = torch.randn(shape, dtype=dtype, device=device)
        return x if major == "k" else x.mT

    return [random("a", m, majors[0]), random("b", n, majors[1])]


TEST_CASES = {
    "tails": {"batch": 3, "m": 129, "n": 136, "k": 72},
    "odd": {"batch": 2, "m": 67, "n": 77, "k": 136, "dtype": torch.float16},
    "column_major": {"batch": 2, "m": 136, "n": 264, "k": 65, "majors": "mn"},
    "shared_a": {"batch": 3, "m": 40, "n": 72, "k": 64, "shared": "a"},
    "shared_b": {"batch": 3, "m": 40, "n": 72, "k": 64, "shared": "b", "majors": "kn"},
    "waves": {"batch": 70, "m": 130, "n": 8, "k": 8},
    "wide": {"batch": 67, "m": 8, "n": 248, "k": 8},
    "empty": {"batch": 2, "m": 0, "n": 8, "k": 8},
}
BENCH_CASES = {f"{batch}x{m}x{n}x{k}": {"batch": batch, "m": m, "n": n, "k": k} for batch, m, n, k in (
    (64, 1024, 1024, 128), (128, 512, 512, 512), (8, 4096, 4096, 4096), (16, 4096, 7168, 2048), (256, 128, 512, 128))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">0", "UTMASTG": ">0", "spill_bytes": 0}}


def flops(a, b):
    return 2 * max(a.shape[0] if a.ndim == 3 else 1, b.shape[0] if b.ndim == 3 else 1) * (
        a.shape[-2] * b.shape[-2] * a.shape[-1])


# --- Device ----------------------------------------------------------------------------------------------------------

TILES = ((128, 256), (128, 128), (128, 64))  # (M, N) of a CTA
TUNING_SPACE = {"tile": TILES}
BLOCK_K, MATH_THREADS = 64, 256  # 64 elements are 128 bytes, the widest swizzle
BAND = 8  # tiles along M that run side by side
DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16}


class BatchedGemm:
    """mD[M, N, L] = mA[M, K, L or 1] @ mB[N, K, L or 1]^T."""

    def __init__(self, tile):
        self.tile = tile
        self.stages = (227 * 1024 - 2048 - 2 * 128 * 32 * 2) // (sum(tile) * BLOCK_K * 2)

    @cute.jit
    def __call__(self, mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, ctas: Int32, stream: cuda.CUstream):
        (bM, bN), self.dtype = self.tile, mA.element_type
        major_a, major_b = LayoutEnum.from_tensor(mA), LayoutEnum.from_tensor(mB)
        modes = major_a.sm90_mma_major_mode(), major_b.sm90_mma_major_mode()
        mma = sm90.make_trivial_tiled_mma(self.dtype, self.dtype, *modes, Float32, (2, 1, 1), (64, bN))
        sA = sm90.make_smem_layout_a(major_a, (bM, bN, BLOCK_K), self.dtype, self.stages)
        sB = sm90.make_smem_layout_b(major_b, (bM, bN, BLOCK_K), self.dtype, self.stages)
        # D leaves in slices of 32 columns, of which there are two; each warp stores its own (16, 32).
        sD = sm90.make_smem_layout_epi(self.dtype, LayoutEnum.ROW_MAJOR, (16, 32), 2, smem_trg_shape=(128, 32, 2))
        sBox = sm90.make_smem_layout_epi(self.dtype, LayoutEnum.ROW_MAJOR, (16, 32), 1)

        def tma(op, mX, smem, box):  # (copy atom, tensor of coordinates with three modes)
            return tuple(cpasync.make_tiled_tma_atom(op, mX, cute.slice_(smem, (None, None, 0)), box))

        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        self.kernel(mma, tma(load, mA, sA, (bM, BLOCK_K)), tma(load, mB, sB, (bN, BLOCK_K)),
                    tma(store, mD, sBox, (16, 32)), sA, sB, sD).launch(
            grid=(ctas, 1, 1), block=(MATH_THREADS + 128, 1, 1), min_blocks_per_mp=1, stream=stream)

    @cute.jit
    def locate(self, t, tiles_m, tiles_n):
        """(m, n, batch) of the t-th tile: one product after the other, in bands of tiles along M that share B in L2."""
        batch, t = t // (tiles_m * tiles_n), t % (tiles_m * tiles_n)
        first, t = t // (BAND * tiles_n) * BAND, t % (BAND * tiles_n)
        height = cutlass.min(tiles_m - first, BAND)
        return first + t % height, t // height, batch

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, tma_a, tma_b, tma_d, sA_layout: cute.ComposedLayout,
               sB_layout: cute.ComposedLayout, sD_layout: cute.ComposedLayout):
        (bM, bN), (copy_a, mA), (copy_b, mB), (copy_d, mD) = self.tile, tma_a, tma_b, tma_d
        thread, _, _ = cute.arch.thread_idx()
        first, _, _ = cute.arch.block_idx()
        step, _, _ = cute.arch.grid_dim()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        sA = smem.allocate_tensor(self.dtype, sA_layout.outer, 1024, swizzle=sA_layout.inner)  # (bM, BLOCK_K, stages)
        sB = smem.allocate_tensor(self.dtype, sB_layout.outer, 1024, swizzle=sB_layout.inner)  # (bN, BLOCK_K, stages)
        sD = smem.allocate_tensor(self.dtype, sD_layout.outer, 1024, swizzle=sD_layout.inner)  # (128, 32, 2)
        agents = [pipeline.CooperativeGroup(pipeline.Agent.Thread, threads) for threads in (1, MATH_THREADS)]
        producer, consumer = pipeline.PipelineTmaAsync.create(
            num_stages=self.stages, producer_group=agents[0], consumer_group=agents[1],
            tx_count=(bM + bN) * BLOCK_K * 2, cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
            enable_multicast_signaling=True).make_participants()
        tiles_m, tiles_n = cute.ceil_div(mD.shape[0], bM), cute.ceil_div(mD.shape[1], bN)
        tiles, k_tiles = tiles_m * tiles_n * mD.shape[2], cute.ceil_div(mA.shape[1], BLOCK_K)

        if warp_idx >= MATH_THREADS // 32:
            cute.arch.setmaxregister_decrease(24)
            if warp_idx == MATH_THREADS // 32:  # one warp loads
                for t in cutlass.range(first, tiles, step, unroll=1):
                    m, n, batch = self.locate(t, tiles_m, tiles_n)
                    batch_a = cutlass.min(batch, mA.shape[2] - 1)  # 0 for an operand that all products share
                    batch_b = cutlass.min(batch, mB.shape[2] - 1)
                    gA = cute.local_tile(mA[None, None, batch_a], (bM, BLOCK_K), (m, None))  # (bM, BLOCK_K, k_tiles)
                    gB = cute.local_tile(mB[None, None, batch_b], (bN, BLOCK_K), (n, None))  # (bN, BLOCK_K, k_tiles)
                    for k in cutlass.range(k_tiles, unroll=1):
                        stage = producer.acquire_and_advance()
                        for copy, gX, sX in ((copy_a, gA, sA), (copy_b, gB, sB)):
                            block_copy(copy, cute.group_modes(gX, 0, 2)[None, k],
                                       cute.group_modes(sX, 0, 2)[None, stage.index], tma_bar_ptr=stage.barrier)
                producer.tail()
        else:
            cute.arch.setmaxregister_increase(240)
            thr_mma = mma.get_slice(cute.arch.make_warp_uniform(thread // 128) * 128)
            tCrA = mma.make_fragment_A(thr_mma.partition_A(sA))  # (MMA, M, K, stages)
            tCrB = mma.make_fragment_B(thr_mma.partition_B(sB))  # (MMA, N, K, stages)
            acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((bM, bN)), Float32)
            stmatrix = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), self.dtype)
            r2s = cute.make_tiled_copy_S(stmatrix, cute.make_tiled_copy_C_atom(stmatrix, mma)).get_slice(thread)
            tDsD = r2s.partition_D(sD)  # (copy, M, N, 2)

            for t in cutlass.range(first, tiles, step, unroll=1):
                m, n, batch = self.locate(t, tiles_m, tiles_n)
                behind = consumer.clone()
                mma.set(warpgroup.Field.ACCUMULATE, False)
                for k in cutlass.range(k_tiles, unroll=1):
                    stage = consumer.wait_and_advance()
                    warpgroup.fence()
                    for block in cutlass.range_constexpr(BLOCK_K // 16):
                        at = (None, None, block, stage.index)
                        cute.gemm(mma, acc, tCrA[at], tCrB[at], acc)
                        mma.set(warpgroup.Field.ACCUMULATE, True)
                    warpgroup.commit_group()
                    warpgroup.wait_group(1)  # the products of the previous stage are done, so it can be loaded again
                    if k > 0:
                        behind.release()
                        behind.advance()
                warpgroup.wait_group(0)
                behind.release()

                for e in cutlass.range_constexpr(bN // 32):  # 32 columns are 16 accumulators of a thread
                    cute.arch.cp_async_bulk_wait_group(1, read=True)  # the buffer of two slices ago has left
                    cute.arch.sync_warp()
                    rD = cute.make_rmem_tensor(tDsD[None, None, None, 0].shape, self.dtype)
                    for v in cutlass.range_constexpr(16):
                        rD[v] = acc[16 * e + v].to(self.dtype)
                    cute.copy(r2s, rD, tDsD[None, None, None, e % 2])
                    cute.arch.fence_view_async_shared()
                    cute.arch.sync_warp()
                    sBox = cute.local_tile(sD[None, None, e % 2], (16, 32), (warp_idx, 0))
                    box = (m * (bM // 16) + warp_idx, n * (bN // 32) + e)
                    gBox = cute.local_tile(mD[None, None, batch], (16, 32), box)
                    block_copy(copy_d, cute.group_modes(sBox, 0, 2), cute.group_modes(gBox, 0, 2))
                    cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(tile, dtype, majors):
    """The kernel for operands that are contiguous along `majors`, "k" or not; all sizes are run-time values."""

    def fake(shape, major):
        strides = [cute.sym_int64(divisibility=8) for _ in shape]
        strides[major] = 1
        return make_fake_tensor(DTYPES[dtype], shape, tuple(strides), assumed_align=16)

    M, N, K, L, La, Lb = (cute.sym_int() for _ in range(6))
    a, b = (1 if major == "k" else 0 for major in majors)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(BatchedGemm(tile), fake((M, K, La), a), fake((N, K, Lb), b), fake((M, N, L), 1), Int32(1),
                        stream, options="--enable-tvm-ffi")


def _pick(batch, m, n, sms):
    """The tile whose waves take least: per wave, its area plus what a tile costs beside its products."""

    def cost(tile):
        tiles = batch * -(-m // tile[0]) * -(-n // tile[1])
        return -(-tiles // sms) * (tile[0] * tile[1] + 64 * sum(tile))

    return min(TILES, key=cost)


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


def _major(name, x):
    """Along which of its two modes x is contiguous, "k" or "m"; ValueError where TMA cannot address it."""
    for major, along, other in (("k", -1, -2), ("m", -2, -1)):
        rest = [x.stride(d) for d in (other, *range(x.ndim - 2)) if x.shape[d] > 1]
        if (x.stride(along) == 1 or x.shape[along] == 1) and all(s > 0 and s % 8 == 0 for s in rest):
            _require(x.data_ptr() % 16 == 0, f"{name} must begin at a multiple of 16 bytes: clone it")
            return major
    raise ValueError(f"{name} {tuple(x.shape)} has strides {x.stride()}: one of the last two must be 1, "
                     "all others multiples of 8, for TMA; pad the rows, or drop an expanded batch dimension")


def _view(x, major, length):
    """x as (rows, K, length of batch); the stride of a dimension of one element is free, and TMA wants 16 bytes."""
    x = x if x.ndim == 3 else x.unsqueeze(0)
    strides = [s if n > 1 else 8 for n, s in zip(x.shape, x.stride(), strict=True)]
    strides[2 if major == "k" else 1] = 1
    return x.as_strided((x.shape[1], x.shape[2], length), (strides[1], strides[2], strides[0]))


def kernel_fn(a, b, *, tile=None):
    """a @ b.mT: a (L, M, K) or (M, K), b (L, N, K) or (N, K), returns (L, M, N); ValueError for what it cannot take.

    tile: one of TILES, by default the one that leaves the fewest SMs idle."""
    _require(a.ndim in (2, 3) and b.ndim in (2, 3), f"a and b must have 2 or 3 dimensions, got {a.ndim} and {b.ndim}")
    _require(a.dtype in DTYPES and a.dtype == b.dtype, f"a and b must be bfloat16 or float16, got {a.dtype}, {b.dtype}")
    _require(a.shape[-1] == b.shape[-1] > 0, f"a and b must have the same K > 0, got {a.shape[-1]} and {b.shape[-1]}")
    lengths = {x.shape[0] for x in (a, b) if x.ndim == 3}
    _require(len(lengths) < 2, f"the batches differ: {sorted(lengths)}")
    _require(not torch.is_grad_enabled() or not (a.requires_grad or b.requires_grad), "no backward: detach a and b")
    if a.ndim == 3 and b.ndim == 2 and a.stride(0) == a.shape[1] * a.stride(1):
        return kernel_fn(a.flatten(0, 1), b, tile=tile).unflatten(0, a.shape[:2])  # one product with L * M rows
    majors = _major("a", a), _major("b", b)
    _require(a.is_cuda and a.device == b.device, f"a and b must be on one CUDA device, got {a.device} and {b.device}")
    batch, m, n = max(lengths, default=1), a.shape[-2], b.shape[-2]
    out = a.new_empty(batch, m, -(-n // 8) * 8)[..., :n]
    if out.numel():
        sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        tile = tuple(tile or _pick(batch, m, n, sms))
        tiles = batch * -(-m // tile[0]) * -(-n // tile[1])
        views = [_view(x, major, x.shape[0] if x.ndim == 3 else 1) for x, major in zip((a, b), majors, strict=True)]
        _compiled(tile, a.dtype, majors)(*views, _view(out, "k", batch), min(tiles, sms))
    out = out.contiguous()
    return out if lengths else out[0]


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
