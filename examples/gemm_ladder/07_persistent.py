"""Rung 7: as many CTAs as SMs, each with many tiles of D; pairs share tiles of B; results leave by the copy engine.

The producer goes on to the next tile while the consumers store the last one, so the epilogue costs the tensor cores
little. A cluster of two CTAs, one above the other in D, needs the same tile of B: each loads half of it, for both
(multicast). Tiles are visited in bands, so that those computed at a time share rows and columns in L2.
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

TEST_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in ((128, 256, 64), (130, 264, 200), (1, 8, 8))}
BENCH_CASES = {f"{n}": {"m": n, "n": n, "k": n} for n in (1024, 4096)}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">=2", "UTMASTG": ">0", "spill_bytes": 0}}


def flops(a, b):
    return 2 * a.numel() * b.shape[0]


def get_inputs(m=4096, n=4096, k=4096, device="cuda"):
    """[A (M, K), B (N, K)], bfloat16; B is scaled so that A @ B^T is of order one."""
    a, b = (torch.randn(rows, k, dtype=torch.bfloat16, device=device) for rows in (m, n))
    return [a, b * k**-0.5]


def reference_fn(a, b):
    return a @ b.T


# --- Device ----------------------------------------------------------------------------------------------------------

TILE, STORE = (128, 256, 64), (128, 32)  # of a CTA, along (M, N, K); of D, that is stored at a time
STAGES, CONSUMERS, CLUSTER, BAND = 4, 2, (2, 1), 8  # BAND: clusters along M of a band


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, ctas: Int32, stream: cuda.CUstream):
    dtype, row = mA.element_type, LayoutEnum.ROW_MAJOR
    tiled_mma = sm90.make_trivial_tiled_mma(
        dtype, dtype, OperandMajorMode.K, OperandMajorMode.K, Float32, (CONSUMERS, 1, 1), tiler_mn=(64, TILE[1]))
    sA, sB = sm90.make_smem_layout_a(row, TILE, dtype, STAGES), sm90.make_smem_layout_b(row, TILE, dtype, STAGES)
    sD = sm90.make_smem_layout_epi(dtype, row, STORE, 2)
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    tma_a, gA = cpasync.make_tiled_tma_atom(load, mA, cute.slice_(sA, (None, None, 0)), (TILE[0], TILE[2]))
    tma_b, gB = cpasync.make_tiled_tma_atom(load, mB, cute.slice_(sB, (None, None, 0)), (TILE[1], TILE[2]))
    tma_d, gD = cpasync.make_tiled_tma_atom(store, mD, cute.slice_(sD, (None, None, 0)), STORE)
    kernel = _kernel(tiled_mma, tma_a, gA, tma_b, gB, tma_d, gD, mD, sA, sB, sD)
    kernel.launch(grid=(ctas, 1, 1), block=(128 * (1 + CONSUMERS), 1, 1), cluster=(*CLUSTER, 1), stream=stream)


@cute.jit
def place(work, mD, rank):
    """(m, n) of the tile of D that work item `work` is for this CTA of the cluster: down a band, then across."""
    clusters_m = cute.ceil_div(cute.ceil_div(mD.shape[0], TILE[0]), CLUSTER[0])
    tiles_n = cute.ceil_div(mD.shape[1], TILE[1])
    first, work = work // (BAND * tiles_n) * BAND, work % (BAND * tiles_n)
    height = cutlass.min(clusters_m - first, BAND)
    return (first + work % height) * CLUSTER[0] + rank, work // height


@cute.kernel
def _kernel(tiled_mma: cute.TiledMma, tma_a: cute.CopyAtom, mA: cute.Tensor, tma_b: cute.CopyAtom, mB: cute.Tensor,
            tma_d: cute.CopyAtom, gD: cute.Tensor, mD: cute.Tensor, layout_a: cute.ComposedLayout,
            layout_b: cute.ComposedLayout, layout_d: cute.ComposedLayout):
    thread, block, grid = cute.arch.thread_idx()[0], cute.arch.block_idx()[0], cute.arch.grid_dim()[0]
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    bM, bN, bK = TILE
    dtype, smem = mD.element_type, cutlass.memory.SmemAllocator()
    sA = smem.allocate_tensor(dtype, layout_a.outer, 1024, swizzle=layout_a.inner)  # (M, K, stages)
    sB = smem.allocate_tensor(dtype, layout_b.outer, 1024, swizzle=layout_b.inner)  # (N, K, stages)
    sD = smem.allocate_tensor(dtype, layout_d.outer, 1024, swizzle=layout_d.inner)  # (M, N, 2)

    def threads(count):
        return pipeline.CooperativeGroup(pipeline.Agent.Thread, count)

    producer, consumer = pipeline.PipelineTmaAsync.create(  # `full` and `empty` of rung 6, across the cluster
        num_stages=STAGES, producer_group=threads(1), consumer_group=threads(128 * CONSUMERS),
        tx_count=(bM + bN) * bK * dtype.width // 8, cta_layout_vmnk=cute.make_layout((1, *CLUSTER, 1)),
        enable_multicast_signaling=True).make_participants()
    tiles, warp_index = cute.ceil_div(mA.shape[1], bK), cute.arch.make_warp_uniform(thread // 32)
    all_work = cute.ceil_div(cute.ceil_div(mD.shape[0], bM), CLUSTER[0]) * cute.ceil_div(mD.shape[1], bN)
    if warp_index < 4:
        cute.arch.setmaxregister_decrease(40)
        if warp_index == 0:
            tAsA, tBsB = cute.group_modes(sA, 0, 2), cute.group_modes(sB, 0, 2)  # (tile, stages)
            for work in cutlass.range(block // CLUSTER[0], all_work, grid // CLUSTER[0], unroll=1):
                m, n = place(work, mD, rank)
                tAgA = cute.group_modes(cute.local_tile(mA, (bM, bK), (m, None)), 0, 2)  # (tile, K tiles)
                tBgB = cute.group_modes(cute.local_tile(mB, (bN, bK), (n, None)), 0, 2)
                for k in cutlass.range(tiles, unroll=1):
                    to = producer.acquire_and_advance()
                    block_copy(tma_a, tAgA[None, k], tAsA[None, to.index], tma_bar_ptr=to.barrier,
                               tma_multicast={"cluster_shape": CLUSTER, "multicast_dim": "M"})
                    block_copy(tma_b, tBgB[None, k], tBsB[None, to.index], tma_bar_ptr=to.barrier,
                               tma_multicast={"cluster_shape": CLUSTER, "multicast_dim": "N"})
            producer.tail()  # until the peer has read what this CTA sent
    else:
        cute.arch.setmaxregister_increase(232)
        thr_mma = tiled_mma.get_slice(thread - 128)
        tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))  # descriptors of shared memory, not registers
        tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB))
        acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((bM, bN)), Float32)
        stmatrix = cute.make_tiled_copy_C_atom(
            cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), dtype), tiled_mma)
        to_smem = cute.make_tiled_copy_S(sm90.get_smem_store_op(LayoutEnum.ROW_MAJOR, dtype, Float32), stmatrix)
        r2s = to_smem.get_slice(thread - 128)
        tDsD, sums = r2s.partition_D(sD), to_smem.retile(acc)
        rD = cute.make_rmem_tensor(cute.shape(r2s.partition_S(sD))[:3], dtype)
        consumers = pipeline.NamedBarrier(barrier_id=1, num_threads=128 * CONSUMERS)
        for work in cutlass.range(block // CLUSTER[0], all_work, grid // CLUSTER[0], unroll=1):
            m, n = place(work, mD, rank)
            behind = consumer.clone()  # of the product that still runs
            tiled_mma.set(warpgroup.Field.ACCUMULATE, False)
            for k in cutlass.range(tiles, unroll=1):
                tile = consumer.wait_and_advance()
                warpgroup.fence()
                for part in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
                    at = (None, None, part, tile.index)
                    cute.gemm(tiled_mma, acc, tCrA[at], tCrB[at], acc)
                    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
                warpgroup.commit_group()
                warpgroup.wait_group(1)
                if k > 0:
                    behind.release()
                    behind.advance()
            warpgroup.wait_group(0)
            behind.release()
            tD = cute.zipped_divide(cute.local_tile(gD, (bM, bN), (m, n)), STORE)
            size = const_expr(cute.size(rD))
            for e in cutlass.range_constexpr(bN // STORE[1]):
                for v in cutlass.range_constexpr(size):
                    rD[v] = sums[e * size + v].to(dtype)
                if warp_index == 4:
                    cute.arch.cp_async_bulk_wait_group(1, read=True)  # the buffer before the last is free
                consumers.arrive_and_wait()
                cute.copy(to_smem, rD, tDsD[None, None, None, e % 2])
                cute.arch.fence_view_async_shared()
                consumers.arrive_and_wait()
                if warp_index == 4:
                    block_copy(tma_d, cute.group_modes(sD, 0, 2)[None, e % 2], tD[None, (0, e)])
                    cute.arch.cp_async_bulk_commit_group()
        if warp_index == 4:
            cute.arch.cp_async_bulk_wait_group(0)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _ctas(device):
    """One for each SM, in whole clusters."""
    return torch.cuda.get_device_properties(device).multi_processor_count // CLUSTER[0] * CLUSTER[0]


@functools.cache
def _launcher():
    m, n, k = cute.sym_int(), cute.sym_int(divisibility=8), cute.sym_int(divisibility=8)

    def matrix(rows, columns):
        stride = (cute.sym_int64(divisibility=8), 1)
        return make_fake_tensor(cutlass.BFloat16, (rows, columns), stride=stride, assumed_align=16)

    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(gemm, matrix(m, k), matrix(n, k), matrix(m, n), Int32(132), stream, options="--enable-tvm-ffi")


def kernel_fn(a, b):
    """a @ b.T, new; a (M, K), b (N, K): contiguous bfloat16 on a GPU, N and K multiples of 8; else ValueError."""
    for x in (a, b):
        if x.ndim != 2 or x.dtype != torch.bfloat16 or not x.is_cuda or not x.is_contiguous() or x.data_ptr() % 16:
            raise ValueError("expected contiguous bfloat16 matrices on a CUDA device at multiples of 16 bytes; got "
                             f"{x.dtype} of shape {tuple(x.shape)} with strides {x.stride()} on {x.device}")
    if a.shape[1] != b.shape[1] or a.shape[1] % 8 or b.shape[0] % 8 or 0 in (*a.shape, *b.shape):
        raise ValueError(f"expected (M, K) and (N, K), not empty, N and K multiples of 8; got {tuple(a.shape)} and "
                         f"{tuple(b.shape)}")
    out = a.new_empty(a.shape[0], b.shape[0])
    _launcher()(a, b, out, _ctas(a.device))
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
