"""Rung 4: Hopper's own units: the copy engine (TMA) fetches tiles, a warpgroup multiplies them in place (WGMMA).

One thread asks for a whole tile; it arrives swizzled, and zeros fill what lies outside of the matrix. WGMMA reads both
operands from shared memory, so no registers are spent on them. Still one thing after the other: ask, wait, multiply.
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64
from cutlass.block import block_copy
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in ((128, 256, 64), (130, 264, 200), (1, 8, 8))}
BENCH_CASES = {f"{n}": {"m": n, "n": n, "k": n} for n in (1024, 4096)}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": 2, "LDG.128": 0, "spill_bytes": 0}}


def flops(a, b):
    return 2 * a.numel() * b.shape[0]


def get_inputs(m=4096, n=4096, k=4096, device="cuda"):
    """[A (M, K), B (N, K)], bfloat16; B is scaled so that A @ B^T is of order one."""
    a, b = (torch.randn(rows, k, dtype=torch.bfloat16, device=device) for rows in (m, n))
    return [a, b * k**-0.5]


def reference_fn(a, b):
    return a @ b.T


# --- Device ----------------------------------------------------------------------------------------------------------

TILE = (128, 128, 64)  # of a CTA, along (M, N, K)
BYTES = (TILE[0] + TILE[1]) * TILE[2] * 2  # of a K tile of A and B


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, stream: cuda.CUstream):
    dtype, row = mA.element_type, LayoutEnum.ROW_MAJOR
    tiled_mma = sm90.make_trivial_tiled_mma(
        dtype, dtype, OperandMajorMode.K, OperandMajorMode.K, Float32, (1, 1, 1), tiler_mn=(64, TILE[1]))
    sA, sB = sm90.make_smem_layout_a(row, TILE, dtype, 1), sm90.make_smem_layout_b(row, TILE, dtype, 1)
    load = cpasync.CopyBulkTensorTileG2SOp()
    tma_a, gA = cpasync.make_tiled_tma_atom(load, mA, cute.slice_(sA, (None, None, 0)), (TILE[0], TILE[2]))
    tma_b, gB = cpasync.make_tiled_tma_atom(load, mB, cute.slice_(sB, (None, None, 0)), (TILE[1], TILE[2]))
    grid = (cute.ceil_div(mD.shape[1], TILE[1]), cute.ceil_div(mD.shape[0], TILE[0]), 1)
    kernel = _kernel(tiled_mma, tma_a, gA, tma_b, gB, mD, sA, sB)
    kernel.launch(grid=grid, block=(128, 1, 1), stream=stream)


@cute.kernel
def _kernel(tiled_mma: cute.TiledMma, tma_a: cute.CopyAtom, mA: cute.Tensor, tma_b: cute.CopyAtom, mB: cute.Tensor,
            mD: cute.Tensor, layout_a: cute.ComposedLayout, layout_b: cute.ComposedLayout):
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    bM, bN, bK = TILE
    smem = cutlass.memory.SmemAllocator()
    sA = smem.allocate_tensor(mD.element_type, layout_a.outer, 1024, swizzle=layout_a.inner)  # (M, K, stages)
    sB = smem.allocate_tensor(mD.element_type, layout_b.outer, 1024, swizzle=layout_b.inner)  # (N, K, stages)
    full = smem.allocate_array(Int64, 1)  # barrier: the bytes of a K tile have arrived
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.barrier()
    tAgA = cute.group_modes(cute.local_tile(mA, (bM, bK), (block_m, None)), 0, 2)  # (tile, K tiles)
    tBgB = cute.group_modes(cute.local_tile(mB, (bN, bK), (block_n, None)), 0, 2)
    tAsA, tBsB = cute.group_modes(sA, 0, 2), cute.group_modes(sB, 0, 2)  # (tile, stages)
    thr_mma = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))  # descriptors of shared memory, not registers
    tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB))
    acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((bM, bN)), Float32)
    phase = Int32(0)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, False)
    for k in cutlass.range(cute.ceil_div(mA.shape[1], bK), unroll=1):
        if thread == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(full, BYTES)
        if thread < 32:  # the copy elects one thread of a warp
            block_copy(tma_a, tAgA[None, k], tAsA[None, 0], tma_bar_ptr=full)
            block_copy(tma_b, tBgB[None, k], tBsB[None, 0], tma_bar_ptr=full)
        cute.arch.mbarrier_wait(full, phase)
        phase = phase ^ 1
        warpgroup.fence()
        for block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
            cute.gemm(tiled_mma, acc, tCrA[None, None, block, 0], tCrB[None, None, block, 0], acc)
            tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.barrier()  # all have read the tile: the next may come
    tCcD = thr_mma.partition_C(cute.make_identity_tensor((bM, bN)))
    for v in cutlass.range_constexpr(cute.size(acc)):
        at = (block_m * bM + tCcD[v][0], block_n * bN + tCcD[v][1])
        if cute.elem_less(at, mD.shape):
            mD[at] = acc[v].to(mD.element_type)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher():
    m, n, k = cute.sym_int(), cute.sym_int(divisibility=8), cute.sym_int(divisibility=8)

    def matrix(rows, columns):
        stride = (cute.sym_int64(divisibility=8), 1)
        return make_fake_tensor(cutlass.BFloat16, (rows, columns), stride=stride, assumed_align=16)

    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(gemm, matrix(m, k), matrix(n, k), matrix(m, n), stream, options="--enable-tvm-ffi")


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
    _launcher()(a, b, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
