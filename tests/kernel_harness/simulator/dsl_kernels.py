"""Small CuTe DSL programs for the simulator: each has a correct form and forms with one planted bug.

A line that a finding must name carries the comment `# FOUND <bug>`.
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float16, Float32, Int32, const_expr
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.utils import sm90

THREADS = 128


def fake(dtype, *shape, align=16):
    """A row-major tensor of symbolic shape whose innermost extent is divisible by 16 bytes."""
    strides = [cute.sym_int64(divisibility=8) for _ in shape[1:]] + [1]
    return make_fake_tensor(dtype, shape, stride=tuple(strides), assumed_align=align)


@functools.cache
def compiled(host, bug, *kinds):
    """kinds: (dtype, rank) per tensor."""
    tensors = [
        fake(dtype, *(cute.sym_int(divisibility=8) if rank > 1 else cute.sym_int() for _ in range(rank)))
        for dtype, rank in kinds
    ]
    return cute.compile(host, *tensors, bug, make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")


# Elementwise with a tail -----------------------------------------------------------------------------------------


@cute.kernel
def scale_kernel(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i, n = block * THREADS + thread, mA.shape[0]
    if const_expr(bug == "tail"):
        n += 1
    if i < n:
        mB[i] = mA[i] * 2.0 + 1.0  # FOUND tail


@cute.jit
def scale_host(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    scale_kernel(mA, mB, bug).launch(
        grid=(cute.ceil_div(mA.shape[0], THREADS), 1, 1), block=(THREADS, 1, 1), stream=stream
    )


def scale(a, bug=None):
    out = torch.empty_like(a)
    compiled(scale_host, bug, (Float32, 1), (Float32, 1))(a, out)
    return out


# Block reduction through shared memory, atomics ------------------------------------------------------------------


@cute.kernel
def total_kernel(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout(THREADS // 32), 16)
    i = block * THREADS + thread
    value = Float32(0.0)
    if i < mA.shape[0]:
        value = mA[i]
    value = cute.arch.warp_reduction_sum(value)
    if thread % 32 == 0:
        if const_expr(bug == "uninitialised"):
            if thread < 96:
                sPart[thread // 32] = value
        else:
            sPart[thread // 32] = value
    if const_expr(bug != "barrier"):
        cute.arch.sync_threads()
    if thread == 0:
        whole = Float32(0.0)
        for w in cutlass.range(THREADS // 32, unroll=1):
            whole += sPart[w]  # FOUND uninitialised  # FOUND barrier
        cute.arch.atomic_add(mB.iterator, whole)


@cute.jit
def total_host(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    total_kernel(mA, mB, bug).launch(
        grid=(cute.ceil_div(mA.shape[0], THREADS), 1, 1), block=(THREADS, 1, 1), stream=stream
    )


def total(a, bug=None):
    out = torch.zeros(1, device=a.device)
    compiled(total_host, bug, (Float32, 1), (Float32, 1))(a, out)
    return out


# Transpose through shared memory ---------------------------------------------------------------------------------

TILE = 32


@cute.kernel
def transpose_kernel(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sT = smem.allocate_tensor(Float32, cute.make_layout((TILE, TILE), stride=(TILE + 1, 1)), 16)
    x, y = thread % TILE, thread // TILE
    for j in cutlass.range(0, TILE, THREADS // TILE, unroll=1):
        row, column = by * TILE + y + j, bx * TILE + x
        if row < mA.shape[0] and column < mA.shape[1]:
            sT[y + j, x] = mA[row, column]
    if const_expr(bug != "barrier"):
        cute.arch.sync_threads()
    for j in cutlass.range(0, TILE, THREADS // TILE, unroll=1):
        row, column = bx * TILE + y + j, by * TILE + x
        if row < mB.shape[0] and column < mB.shape[1]:
            mB[row, column] = sT[x, y + j]  # FOUND barrier


@cute.jit
def transpose_host(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    grid = (cute.ceil_div(mA.shape[1], TILE), cute.ceil_div(mA.shape[0], TILE), 1)
    transpose_kernel(mA, mB, bug).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


def transpose(a, bug=None):
    out = torch.empty(a.shape[1], a.shape[0], device=a.device)
    compiled(transpose_host, bug, (Float32, 2), (Float32, 2))(a, out)
    return out


# TMA load, change, TMA store -------------------------------------------------------------------------------------

BOX = (32, 64)


@cute.kernel
def bulk_kernel(load: cute.CopyAtom, mA: cute.Tensor, store: cute.CopyAtom, mB: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.memory.SmemAllocator()
    sT = smem.allocate_tensor(BFloat16, cute.make_layout(BOX, stride=(BOX[1], 1)), 128)
    barrier = smem.allocate_array(cutlass.Int64, 1)
    gA, gB = cute.local_tile(mA, BOX, (by, bx)), cute.local_tile(mB, BOX, (by, bx))
    tAsA, tAgA = cpasync.tma_partition(
        load, 0, cute.make_layout(1), cute.group_modes(sT, 0, 2), cute.group_modes(gA, 0, 2)
    )
    tBsB, tBgB = cpasync.tma_partition(
        store, 0, cute.make_layout(1), cute.group_modes(sT, 0, 2), cute.group_modes(gB, 0, 2)
    )
    if warp_index == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(barrier, 2 if const_expr(bug == "count") else 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp_index == 0:
        nbytes = BOX[0] * BOX[1] * (4 if const_expr(bug == "bytes") else 2)
        if const_expr(bug == "elect"):
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, nbytes)  # FOUND elect
        else:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(barrier, nbytes)
        cute.copy(load, tAgA, tAsA, tma_bar_ptr=barrier)
    if const_expr(bug != "wait"):
        cute.arch.mbarrier_wait(barrier, 0)  # FOUND count  # FOUND bytes
    for i in cutlass.range(thread, BOX[0] * BOX[1], THREADS, unroll=1):
        sT[i // BOX[1], i % BOX[1]] = (sT[i // BOX[1], i % BOX[1]].to(Float32) * 2.0).to(BFloat16)  # FOUND wait
    if const_expr(bug != "fence"):
        cute.arch.fence_view_async_shared()
    cute.arch.sync_threads()
    if warp_index == 0:
        cute.copy(store, tBsB, tBgB)  # FOUND fence
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def bulk_host(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    layout = cute.make_layout(BOX, stride=(BOX[1], 1))
    load, gA = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), mA, layout, BOX)
    store, gB = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), mB, layout, BOX)
    grid = (cute.ceil_div(mA.shape[1], BOX[1]), cute.ceil_div(mA.shape[0], BOX[0]), 1)
    bulk_kernel(load, gA, store, gB, bug).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


def bulk(a, bug=None):
    out = torch.empty_like(a)
    compiled(bulk_host, bug, (BFloat16, 2), (BFloat16, 2))(a, out)
    return out


# cp.async, ldmatrix, mma.sync ------------------------------------------------------------------------------------

MMA_TILE = (64, 64, 32)


@cute.kernel
def mma_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, bug: cutlass.Constexpr):
    """C (M, N) = A (M, K) B (N, K)^T, tiles that divide the problem, one stage."""
    bM, bN, bK = MMA_TILE
    thread, _, _ = cute.arch.thread_idx()
    m, n, _ = cute.arch.block_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1), permutation_mnk=(32, 32, 16))
    smem = cutlass.memory.SmemAllocator()
    swizzle = cute.make_swizzle(2, 4, 3)
    sA = smem.allocate_tensor(Float16, cute.make_layout((bM, bK), stride=(bK, 1)), 128, swizzle=swizzle)
    sB = smem.allocate_tensor(Float16, cute.make_layout((bN, bK), stride=(bK, 1)), 128, swizzle=swizzle)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8))).get_slice(
        thread
    )
    gA, gB = cute.local_tile(mA, (bM, bK), (m, None)), cute.local_tile(mB, (bN, bK), (n, None))
    gC = cute.local_tile(mC, (bM, bN), (m, n))
    slice_ = mma.get_slice(thread)
    tCrA, tCrB = mma.make_fragment_A(slice_.partition_A(sA)), mma.make_fragment_B(slice_.partition_B(sB))
    tCgC = slice_.partition_C(gC)
    acc = cute.make_rmem_tensor(tCgC.shape, Float32)
    acc.fill(0.0)
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16)
    copyA, copyB = cute.make_tiled_copy_A(ldmatrix, mma), cute.make_tiled_copy_B(ldmatrix, mma)
    for k in cutlass.range(gA.shape[2], unroll=1):
        cute.copy(atom, copy.partition_S(gA)[None, None, None, k], copy.partition_D(sA))  # FOUND reuse
        cute.copy(atom, copy.partition_S(gB)[None, None, None, k], copy.partition_D(sB))
        cute.arch.cp_async_commit_group()
        if const_expr(bug != "wait"):
            cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for kb in cutlass.range_constexpr(bK // 16):
            cute.copy(
                copyA, copyA.get_slice(thread).partition_S(sA)[None, None, kb], copyA.retile(tCrA)[None, None, kb]
            )  # FOUND wait
            cute.copy(
                copyB, copyB.get_slice(thread).partition_S(sB)[None, None, kb], copyB.retile(tCrB)[None, None, kb]
            )
            cute.gemm(mma, acc, tCrA[None, None, kb], tCrB[None, None, kb], acc)
        if const_expr(bug != "reuse"):
            cute.arch.sync_threads()
    for i in cutlass.range_constexpr(cute.size(acc)):
        tCgC[i] = acc[i]


@cute.jit
def mma_host(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    grid = (cute.ceil_div(mC.shape[0], MMA_TILE[0]), cute.ceil_div(mC.shape[1], MMA_TILE[1]), 1)
    mma_kernel(mA, mB, mC, bug).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


def mma(a, b, bug=None):
    out = torch.empty(a.shape[0], b.shape[0], device=a.device)
    compiled(mma_host, bug, (Float16, 2), (Float16, 2), (Float32, 2))(a, b, out)
    return out


# Shared tiles written by threads, WGMMA --------------------------------------------------------------------------

WGMMA_TILE = (64, 64, 64)


@cute.kernel
def wgmma_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    tiled: cute.TiledMma,
    layoutA: cute.ComposedLayout,
    layoutB: cute.ComposedLayout,
    bug: cutlass.Constexpr,
):
    bM, bN, bK = WGMMA_TILE
    thread, _, _ = cute.arch.thread_idx()
    m, n, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sA = smem.allocate_tensor(Float16, layoutA.outer, 1024, swizzle=layoutA.inner)
    sB = smem.allocate_tensor(Float16, layoutB.outer, 1024, swizzle=layoutB.inner)
    slice_ = tiled.get_slice(thread)
    tCrA, tCrB = tiled.make_fragment_A(slice_.partition_A(sA)), tiled.make_fragment_B(slice_.partition_B(sB))
    tCgC = slice_.partition_C(cute.local_tile(mC, (bM, bN), (m, n)))
    acc = cute.make_rmem_tensor(tCgC.shape, Float32)
    tiled.set(warpgroup.Field.ACCUMULATE, False)
    for k in cutlass.range(mA.shape[1] // bK, unroll=1):
        for i in cutlass.range(thread, bM * bK, THREADS, unroll=1):
            sA[i // bK, i % bK, 0] = mA[m * bM + i // bK, k * bK + i % bK]
            sB[i // bK, i % bK, 0] = mB[n * bN + i // bK, k * bK + i % bK]
        if const_expr(bug != "fence"):
            cute.arch.fence_view_async_shared()
        cute.arch.sync_threads()
        warpgroup.fence()
        for kb in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
            cute.gemm(tiled, acc, tCrA[None, None, kb, 0], tCrB[None, None, kb, 0], acc)  # FOUND fence
            tiled.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
        if const_expr(bug != "unawaited"):
            warpgroup.wait_group(0)
        cute.arch.sync_threads()
    for i in cutlass.range_constexpr(cute.size(acc)):
        tCgC[i] = acc[i]  # FOUND unawaited


@cute.jit
def wgmma_host(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    tiled = sm90.make_trivial_tiled_mma(
        Float16, Float16, OperandMajorMode.K, OperandMajorMode.K, Float32, (1, 1, 1), tiler_mn=(64, WGMMA_TILE[1])
    )
    row = cutlass.tensor_utils.LayoutEnum.ROW_MAJOR
    layouts = sm90.make_smem_layout_a(row, WGMMA_TILE, Float16, 1), sm90.make_smem_layout_b(row, WGMMA_TILE, Float16, 1)
    grid = (cute.ceil_div(mC.shape[0], WGMMA_TILE[0]), cute.ceil_div(mC.shape[1], WGMMA_TILE[1]), 1)
    wgmma_kernel(mA, mB, mC, tiled, *layouts, bug).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


def wgmma(a, b, bug=None):
    out = torch.empty(a.shape[0], b.shape[0], device=a.device)
    compiled(wgmma_host, bug, (Float16, 2), (Float16, 2), (Float32, 2))(a, b, out)
    return out


# Tiles loaded by TMA, WGMMA --------------------------------------------------------------------------------------


@cute.kernel
def loaded_kernel(
    loadA: cute.CopyAtom,
    mA: cute.Tensor,
    loadB: cute.CopyAtom,
    mB: cute.Tensor,
    mC: cute.Tensor,
    tiled: cute.TiledMma,
    layoutA: cute.ComposedLayout,
    layoutB: cute.ComposedLayout,
):
    bM, bN, bK = WGMMA_TILE
    thread, _, _ = cute.arch.thread_idx()
    m, n, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sA = smem.allocate_tensor(Float16, layoutA.outer, 1024, swizzle=layoutA.inner)
    sB = smem.allocate_tensor(Float16, layoutB.outer, 1024, swizzle=layoutB.inner)
    barrier = smem.allocate_array(cutlass.Int64, 1)
    if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, (bM + bN) * bK * 2)
        for load, mX, sX, tile in ((loadA, mA, sA, (bM, m)), (loadB, mB, sB, (bN, n))):
            gX = cute.local_tile(mX, (tile[0], bK), (tile[1], 0))
            pair = cute.group_modes(sX[None, None, 0], 0, 2), cute.group_modes(gX, 0, 2)
            to, source = cpasync.tma_partition(load, 0, cute.make_layout(1), *pair)
            cute.copy(load, source, to, tma_bar_ptr=barrier)
    cute.arch.sync_threads()
    cute.arch.mbarrier_wait(barrier, 0)
    slice_ = tiled.get_slice(thread)
    tCrA, tCrB = tiled.make_fragment_A(slice_.partition_A(sA)), tiled.make_fragment_B(slice_.partition_B(sB))
    tCgC = slice_.partition_C(cute.local_tile(mC, (bM, bN), (m, n)))
    acc = cute.make_rmem_tensor(tCgC.shape, Float32)
    tiled.set(warpgroup.Field.ACCUMULATE, False)
    warpgroup.fence()
    for kb in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        cute.gemm(tiled, acc, tCrA[None, None, kb, 0], tCrB[None, None, kb, 0], acc)  # FOUND swizzle
        tiled.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    for i in cutlass.range_constexpr(cute.size(acc)):
        tCgC[i] = acc[i]


@cute.jit
def loaded_host(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    bM, bN, bK = WGMMA_TILE
    tiled = sm90.make_trivial_tiled_mma(
        Float16, Float16, OperandMajorMode.K, OperandMajorMode.K, Float32, (1, 1, 1), tiler_mn=(64, bN)
    )
    row, load = cutlass.tensor_utils.LayoutEnum.ROW_MAJOR, cpasync.CopyBulkTensorTileG2SOp()
    layouts = sm90.make_smem_layout_a(row, WGMMA_TILE, Float16, 1), sm90.make_smem_layout_b(row, WGMMA_TILE, Float16, 1)
    places = [cute.slice_(layout, (None, None, 0)) for layout in layouts]
    if const_expr(bug == "swizzle"):
        places[1] = cute.make_layout((bN, bK), stride=(bK, 1))
    (loadA, gA), (loadB, gB) = (
        cpasync.make_tiled_tma_atom(load, mX, place, (rows, bK))
        for mX, place, rows in zip((mA, mB), places, (bM, bN), strict=True)
    )
    grid = (cute.ceil_div(mC.shape[0], bM), cute.ceil_div(mC.shape[1], bN), 1)
    loaded_kernel(loadA, gA, loadB, gB, mC, tiled, *layouts).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


def loaded(a, b, bug=None):
    out = torch.empty(a.shape[0], b.shape[0], device=a.device)
    compiled(loaded_host, bug, (Float16, 2), (Float16, 2), (Float32, 2))(a, b, out)
    return out


# Histogram: integer atomics in shared and global memory ----------------------------------------------------------


@cute.kernel
def histogram_kernel(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sBins = smem.allocate_tensor(Int32, cute.make_layout(THREADS), 16)
    sBins[thread] = 0
    cute.arch.sync_threads()
    i = block * THREADS + thread
    if i < mA.shape[0]:
        cute.arch.atomic_add(sBins.iterator + mA[i], Int32(1))
    if const_expr(bug != "barrier"):
        cute.arch.sync_threads()
    cute.arch.atomic_add(mB.iterator + thread, sBins[thread])  # FOUND barrier


@cute.jit
def histogram_host(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    histogram_kernel(mA, mB, bug).launch(
        grid=(cute.ceil_div(mA.shape[0], THREADS), 1, 1), block=(THREADS, 1, 1), stream=stream
    )


def histogram(a, bug=None):
    out = torch.zeros(THREADS, dtype=torch.int32, device=a.device)
    compiled(histogram_host, bug, (Int32, 1), (Int32, 1))(a, out)
    return out


# Shared memory of the other CTA of a cluster ---------------------------------------------------------------------


@cute.kernel
def swap_kernel(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    rank = cute.arch.block_idx_in_cluster()
    smem = cutlass.memory.SmemAllocator()
    sA = smem.allocate_tensor(Float32, cute.make_layout(THREADS), 16)
    sA[thread] = mA[block * THREADS + thread]
    if const_expr(bug != "barrier"):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    sOther = cute.make_tensor(cute.arch.map_dsmem_ptr(sA.iterator, rank ^ 1), sA.layout)
    theirs = cute.make_rmem_tensor(1, Float32)
    cute.autovec_copy(cute.local_tile(sOther, (1,), (thread,)), theirs)
    mB[block * THREADS + thread] = theirs[0]  # the load is compiled into its use  # FOUND barrier  # FOUND exit
    if const_expr(bug != "exit"):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()


@cute.jit
def swap_host(mA: cute.Tensor, mB: cute.Tensor, bug: cutlass.Constexpr, stream: cuda.CUstream):
    swap_kernel(mA, mB, bug).launch(
        grid=(mA.shape[0] // THREADS, 1, 1), block=(THREADS, 1, 1), cluster=(2, 1, 1), stream=stream
    )


def swap(a, bug=None):
    out = torch.empty_like(a)
    compiled(swap_host, bug, (Float32, 1), (Float32, 1))(a, out)
    return out


# (function, inputs on the CPU, reference)
PROGRAMS = {
    "scale": (scale, lambda: [torch.randn(1000)], lambda a: a * 2 + 1),
    "total": (total, lambda: [torch.randint(-8, 9, (1000,)).float()], lambda a: a.sum()[None]),
    "transpose": (transpose, lambda: [torch.randn(72, 104)], lambda a: a.T),
    "bulk": (bulk, lambda: [torch.randn(48, 144).bfloat16()], lambda a: a * 2),
    "mma": (
        mma,
        lambda: [torch.randint(-4, 5, (128, 96)).half(), torch.randint(-4, 5, (64, 96)).half()],
        lambda a, b: a.float() @ b.float().T,
    ),
    "wgmma": (
        wgmma,
        lambda: [torch.randint(-4, 5, (128, 128)).half(), torch.randint(-4, 5, (64, 128)).half()],
        lambda a, b: a.float() @ b.float().T,
    ),
    "loaded": (
        loaded,
        lambda: [torch.randint(-4, 5, (128, 64)).half(), torch.randint(-4, 5, (64, 64)).half()],
        lambda a, b: a.float() @ b.float().T,
    ),
    "histogram": (
        histogram,
        lambda: [torch.randint(0, THREADS, (1000,), dtype=torch.int32)],
        lambda a: torch.bincount(a, minlength=THREADS).int(),
    ),
    "swap": (swap, lambda: [torch.randn(4 * THREADS)], lambda a: a.view(2, 2, THREADS).flip(1).flatten()),
}
