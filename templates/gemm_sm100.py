"""Matrix product on Blackwell data-centre GPUs, D = epilogue(A @ B^T) (bound by the tensor cores).

SIMULATED, NOT RUN: nobody had such a GPU. Numbers, synchronisation, registers and spills are checked, speed is not.

Idea      tcgen05: one thread of a pair of CTAs issues products of 256 x 256 tiles, whose operands lie in the shared
          memory of both and whose sums in their tensor memory. TMA fills the stages, four warps read and store.
Layout    A CTA pair owns a (256, 256) tile: each CTA 128 rows of A, 128 rows of B and 128 rows of the sums, which a
          thread reads row by row. Warps 0 to 3 finish, warp 4 multiplies, warp 5 loads.
Requires  sm_100a; bfloat16 or float16; A (M, K), B (N, K) with contiguous rows that start at multiples of 16 bytes; any
          M and N. No backward. Bad input: ValueError.
Verify    python scripts/verify_kernel.py templates/gemm_sm100.py
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, make_tiled_tma_atom_A, make_tiled_tma_atom_B, tcgen05
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.utils import sm100

# --- Specification ---------------------------------------------------------------------------------------------------


def reference_fn(a, b):  # EDIT
    return a @ b.mT


def get_inputs(m=1024, n=1024, k=1024, dtype=torch.bfloat16, device="cuda"):  # EDIT
    """A (m, k) and B (n, k)."""
    return [torch.randn(m, k, dtype=dtype, device=device), torch.randn(n, k, dtype=dtype, device=device)]


TEST_CASES = {"tails": {"m": 257, "n": 264, "k": 456}, "half": {"m": 200, "n": 520, "k": 72, "dtype": torch.float16}}
BENCH_CASES = {"4096x4096x4096": {"m": 4096, "n": 4096, "k": 4096}}
ARCHS = ("sm_100a",)
EXPECT = {"sm_100a": {"UTCHMMA": ">0", "UTMALDG": ">0", "LDTM": ">0", "spill_bytes": 0}}


def flops(a, b):
    return 2 * a.numel() * b.shape[0]


# --- Configuration ---------------------------------------------------------------------------------------------------

TILE = (256, 256, 64)  # (M, N, K) of a pair of CTAs
STAGES = 6  # of 32 KiB per CTA
COLUMNS = 32  # of the sums that a thread holds at a time
DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16}

# --- Device ----------------------------------------------------------------------------------------------------------


def epilogue(acc):  # EDIT
    """Elements of D from a float32 vector of those of A @ B^T."""
    return acc


class Gemm:
    """mD[M, N] = epilogue(mA[M, K] @ mB[N, K]^T)."""

    @cute.jit
    def __call__(self, stream: cuda.CUstream, mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor):
        dtype, k_major = mA.element_type, OperandMajorMode.K
        self.dtype = dtype
        tiled_mma = sm100.make_trivial_tiled_mma(
            dtype, dtype, k_major, k_major, Float32, tcgen05.CtaGroup.TWO, TILE[:2])
        ctas = cute.tiled_divide(cute.make_layout((2, 1, 1)), (tiled_mma.thr_id.shape,))  # (pair, M, N, K)
        sA = sm100.make_smem_layout_a(tiled_mma, TILE, dtype, STAGES)
        sB = sm100.make_smem_layout_b(tiled_mma, TILE, dtype, STAGES)
        one_a, one_b = (cute.slice_(x, (None, None, None, 0)) for x in (sA, sB))
        tma_a = make_tiled_tma_atom_A(sm100.cluster_shape_to_tma_atom_A((2, 1), tiled_mma.thr_id), mA, one_a, TILE,
                                      tiled_mma, ctas.shape)
        tma_b = make_tiled_tma_atom_B(sm100.cluster_shape_to_tma_atom_B((2, 1), tiled_mma.thr_id), mB, one_b, TILE,
                                      tiled_mma, ctas.shape)
        self.stage_bytes = 2 * (cute.size_in_bytes(dtype, one_a) + cute.size_in_bytes(dtype, one_b))  # of the pair
        grid = (2 * cute.ceil_div(mD.shape[0], TILE[0]), cute.ceil_div(mD.shape[1], TILE[1]), 1)
        self.kernel(tiled_mma, tuple(tma_a), tuple(tma_b), mD, sA, sB).launch(
            grid=grid, block=(192, 1, 1), cluster=(2, 1, 1), min_blocks_per_mp=1, stream=stream)

    @cute.kernel
    def kernel(self, tiled_mma: cute.TiledMma, tma_a, tma_b, mD: cute.Tensor, sA_layout: cute.ComposedLayout,
               sB_layout: cute.ComposedLayout):
        bM, bN, bK = TILE
        (copy_a, mA), (copy_b, mB) = tma_a, tma_b
        thread, _, _ = cute.arch.thread_idx()
        x, n, _ = cute.arch.block_idx()
        m, half = x // 2, x % 2
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        ctas = cute.tiled_divide(cute.make_layout((2, 1, 1)), (tiled_mma.thr_id.shape,))  # (pair, M, N, K)
        smem = cutlass.memory.SmemAllocator()
        sA = smem.allocate_tensor(self.dtype, sA_layout.outer, 1024, swizzle=sA_layout.inner)  # (MMA, M, K, stages)
        sB = smem.allocate_tensor(self.dtype, sB_layout.outer, 1024, swizzle=sB_layout.inner)  # (MMA, N, K, stages)

        def group(size):
            return pipeline.CooperativeGroup(pipeline.Agent.Thread, size)

        tmem = cutlass.memory.TmemAllocator(
            barrier_for_retrieve=pipeline.NamedBarrier(barrier_id=1, num_threads=160), is_two_cta=True)
        producer, consumer = pipeline.PipelineTmaUmma.create(  # ends with a barrier of the cluster
            num_stages=STAGES, producer_group=group(1), consumer_group=group(1), tx_count=self.stage_bytes,
            cta_layout_vmnk=ctas).make_participants()
        sums_producer, sums_consumer = pipeline.PipelineUmmaAsync.create(
            num_stages=1, producer_group=group(1), consumer_group=group(256), cta_layout_vmnk=ctas,
        ).make_participants()

        thr_mma = tiled_mma.get_slice(half)
        tCgA = thr_mma.partition_A(cute.local_tile(mA, (bM, bK), (m, None)))  # (MMA, M, K, k_tiles)
        tCgB = thr_mma.partition_B(cute.local_tile(mB, (bN, bK), (n, None)))  # (MMA, N, K, k_tiles)
        alone = cute.make_layout(1)
        tAsA, tAgA = cpasync.tma_partition(copy_a, 0, alone, cute.group_modes(sA, 0, 3), cute.group_modes(tCgA, 0, 3))
        tBsB, tBgB = cpasync.tma_partition(copy_b, 0, alone, cute.group_modes(sB, 0, 3), cute.group_modes(tCgB, 0, 3))
        tCrA, tCrB = tiled_mma.make_fragment_A(sA), tiled_mma.make_fragment_B(sB)
        layout = tiled_mma.make_fragment_C(thr_mma.partition_shape_C((bM, bN))).layout  # of the sums in tensor memory
        k_tiles = cute.size(tAgA, mode=[1])

        if warp_idx == 5:
            for k in cutlass.range(k_tiles, unroll=1):
                stage = producer.acquire_and_advance()
                cute.copy(copy_a, tAgA[None, k], tAsA[None, stage.index], tma_bar_ptr=stage.barrier)
                cute.copy(copy_b, tBgB[None, k], tBsB[None, stage.index], tma_bar_ptr=stage.barrier)
            producer.tail()
        if warp_idx == 4:
            tmem.wait_for_alloc()
            tCtC = cute.make_tensor(tmem.retrieve_ptr(Float32), layout)
            if half == 0:
                sums = sums_producer.acquire_and_advance()
                tiled_mma.set(tcgen05.Field.ACCUMULATE, False)
                for _k in cutlass.range(k_tiles, unroll=1):
                    stage = consumer.wait_and_advance()
                    for block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
                        at = (None, None, block, stage.index)
                        cute.gemm(tiled_mma, tCtC, tCrA[at], tCrB[at], tCtC)
                        tiled_mma.set(tcgen05.Field.ACCUMULATE, True)
                    stage.release()
                sums.commit()
                sums_producer.tail()  # both CTAs arrive at a barrier of this one, which stays until then
        if warp_idx < 4:
            tmem.allocate(bN)
            tmem.wait_for_alloc()
            address = tmem.retrieve_ptr(Float32)
            tCtC = cute.make_tensor(address, layout)
            box = (bM // 2, COLUMNS)
            tile = cute.flat_divide(tCtC[((None, None), 0, 0)], box)  # (128, COLUMNS, 1, bN / COLUMNS)
            atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(COLUMNS), tcgen05.Pack.NONE), Float32)
            load = tcgen05.make_tmem_copy(atom, tile[None, None, 0, 0]).get_slice(thread)
            tDtC = load.partition_S(tile)
            tDcD = load.partition_D(cute.make_identity_tensor(box))
            sums = sums_consumer.wait_and_advance()
            for e in cutlass.range_constexpr(bN // COLUMNS):
                tDrC = cute.make_rmem_tensor(tDcD.shape, Float32)
                cute.copy(load, tDtC[None, None, None, 0, e], tDrC)
                cute.arch.fence_view_async_tmem_load()
                tDrD = cute.make_rmem_tensor(tDcD.shape, mD.element_type)
                tDrD.store(epilogue(tDrC.load()).to(mD.element_type))
                row = m * bM + half * (bM // 2) + tDcD[0][0]
                first = n * bN + e * COLUMNS
                if row < mD.shape[0]:
                    for v in cutlass.range_constexpr(0, COLUMNS, 8):  # D's rows are padded to multiples of 8
                        if first + v < mD.shape[1]:
                            gD = cute.local_tile(mD[row, None], (8,), ((first + v) // 8,))
                            cute.autovec_copy(cute.make_tensor(tDrD.iterator + v, 8), gD)
            sums.release()
            pipeline.NamedBarrier(barrier_id=2, num_threads=128).arrive_and_wait()  # all four warps have loaded
            tmem.relinquish_alloc_permit()
            tmem.free(address)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype):
    """launch(A, B, D); sizes and row strides are run-time values."""
    M, N, K = (cute.sym_int() for _ in range(3))

    def rows(*shape):
        return make_fake_tensor(DTYPES[dtype], shape, (cute.sym_int64(divisibility=8), 1), assumed_align=16)

    compiled = cute.compile(Gemm(), make_fake_stream(use_tvm_ffi_env_stream=True), rows(M, K), rows(N, K), rows(M, N),
                            options="--enable-tvm-ffi")
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


def kernel_fn(a, b):  # EDIT
    """a @ b.mT, new: a (M, K) and b (N, K) of bfloat16 or float16; ValueError for what the kernel cannot take."""
    if a.dtype not in DTYPES or b.dtype != a.dtype or not a.is_cuda or b.device != a.device:
        raise ValueError(f"a and b must both be bfloat16 or float16 on one CUDA device, got {a.dtype} and {b.dtype}")
    if not a.ndim == b.ndim == 2 or a.shape[1] != b.shape[1] or a.shape[1] == 0:
        raise ValueError(f"a and b must be (M, K) and (N, K), K > 0, got {tuple(a.shape)} and {tuple(b.shape)}")
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        raise ValueError("this kernel has no backward: detach the tensors or call it under torch.no_grad()")
    for name, x in (("a", a), ("b", b)):
        if x.stride(1) != 1 or x.stride(0) % 8 or x.stride(0) < x.shape[1] or x.data_ptr() % 16:
            raise ValueError(f"rows of {name} must be contiguous and start at multiples of 16 bytes: copy it, padded")
    m, n = a.shape[0], b.shape[0]
    out = a.new_empty(m, -(-n // 8) * 8)
    if m and n:
        _launcher(a.dtype)(a, b, out[:, :n])
    return out[:, :n].contiguous()


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
