"""Split K, D = A @ B^T, on Hopper: when a product has fewer tiles than the GPU has SMs, and K is long.

When      A product of 512 x 512 has 16 tiles of 128 x 128: 116 of 132 SMs watch for as long as K lasts. Such are weight
          gradients of narrow layers, whose K is the number of tokens, and the projections of a decode step. Give a tile
          to several CTAs, each a part of K. It does not pay where tiles fill the machine, nor for short K, for the
          sums must be exchanged.
Idea      The CTAs of a tile are a cluster. Each leaves its float32 sums in its own shared memory; after one cluster
          barrier each adds up its share of the rows over all of them, in the order of the ranks, through distributed
          shared memory. No workspace, no second kernel, no atomics: results repeat bitwise.
Layout    A (M, K), B (N, K), each contiguous along K or along M, N: the gradient dY^T @ X is kernel_fn(dy.mT, x.mT).
          `choose` is the rule; templates/gemm_sm90.py has the same split beside other tiles, batches and epilogues.
Requires  sm_90a; bfloat16 or float16; any M, N, K whose rows begin at multiples of 16 bytes. N that is no multiple of 8
          costs a copy of D. No backward.
Verify    python scripts/verify_kernel.py examples/gemm_split_k.py
Measured  H200: 0.72 to 0.94 times as fast as cublas
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Uint8, const_expr, pipeline
from cutlass.block import block_copy
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.tensor_utils import LayoutEnum
from cutlass.utils import sm90

# --- Specification ---------------------------------------------------------------------------------------------------


def reference_fn(a, b):
    return a @ b.mT


def get_inputs(m=512, n=512, k=16384, majors="kk", dtype=torch.bfloat16, device="cuda"):
    """A (m, k) and B (n, k), contiguous along `majors`: "k" or, "m" for both, the other one."""

    def random(rows, major):
        shape = (rows, k) if major == "k" else (k, rows)
        x = torch.randn(shape, dtype=dtype, device=device)
        return x if major == "k" else x.mT

    return [random(m, majors[0]), random(n, majors[1])]


TEST_CASES = {
    "split": {"m": 40, "n": 72, "k": 1000},
    "gradient": {"m": 136, "n": 72, "k": 1101, "majors": "mm"},
    "odd": {"m": 33, "n": 77, "k": 136, "dtype": torch.float16},
    "four_parts": {"m": 1, "n": 40, "k": 384, "majors": "km"},
}
BENCH_CASES = {f"{m}x{n}x{k} {majors}": {"m": m, "n": n, "k": k, "majors": majors} for m, n, k, majors in (
    (512, 512, 16384, "kk"), (512, 512, 65536, "mm"), (1024, 1024, 32768, "mm"), (128, 2112, 7168, "kk"),
    (128, 512, 16384, "kk"), (4096, 4096, 4096, "kk"))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HGMMA": ">0", "UTMALDG": ">0", "spill_bytes": 0}}


def flops(a, b):
    return 2 * a.numel() * len(b)


# --- When to split ---------------------------------------------------------------------------------------------------

TILE = TILE_M, TILE_N, TILE_K = 128, 128, 64
SPLITS = (1, 2, 4, 8)  # CTAs of a tile; 8 is the largest cluster that every GPU takes
TUNING_SPACE = {"split": SPLITS}
EXCHANGE = 3  # K tiles that take as long as the exchange, by the rule in templates/gemm_sm90.py


def choose(m, n, k, sms):
    """The split with the shortest time in K tiles: rounds of clusters, times K tiles of a part, plus the exchange."""
    tiles, k_tiles = -(-m // TILE_M) * -(-n // TILE_N), -(-k // TILE_K)

    def cost(split):
        clusters = max(1, sms // split if split <= 2 else sms * 10 // (split * 11))  # larger: SMs of a GPC are left
        return -(-tiles // clusters) * -(-k_tiles // split) + EXCHANGE * (split > 1)

    return min((split for split in SPLITS if split <= k_tiles), key=cost)


# --- Device ----------------------------------------------------------------------------------------------------------

STAGES, MATH_THREADS = 6, 256  # stages of 32 KiB; two warpgroups of 64 rows
PITCH = TILE_N + 8  # floats from row to row of the sums: the rows of a warp's accumulators fall into different banks
DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16}


class SplitKGemm:
    """mD[M, N] = mA[M, K] @ mB[N, K]^T, a cluster of `split` CTAs per tile."""

    def __init__(self, split):
        self.split = split

    @cute.jit
    def __call__(self, mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, stream: cuda.CUstream):
        self.dtype = mA.element_type
        major_a, major_b = LayoutEnum.from_tensor(mA), LayoutEnum.from_tensor(mB)
        modes = major_a.sm90_mma_major_mode(), major_b.sm90_mma_major_mode()
        mma = sm90.make_trivial_tiled_mma(self.dtype, self.dtype, *modes, Float32, (2, 1, 1), (64, TILE_N))
        sA = sm90.make_smem_layout_a(major_a, TILE, self.dtype, STAGES)
        sB = sm90.make_smem_layout_b(major_b, TILE, self.dtype, STAGES)
        load = cpasync.CopyBulkTensorTileG2SOp()
        copy_a, tA = cpasync.make_tiled_tma_atom(load, mA, cute.slice_(sA, (None, None, 0)), (TILE_M, TILE_K))
        copy_b, tB = cpasync.make_tiled_tma_atom(load, mB, cute.slice_(sB, (None, None, 0)), (TILE_N, TILE_K))
        tiles = cute.ceil_div(mD.shape[0], TILE_M), cute.ceil_div(mD.shape[1], TILE_N)
        self.kernel(mma, copy_a, tA, copy_b, tB, mD, sA, sB).launch(
            grid=(self.split, *tiles), cluster=(self.split, 1, 1) if self.split > 1 else None,
            block=(MATH_THREADS + 128, 1, 1), min_blocks_per_mp=1, stream=stream)

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, copy_a: cute.CopyAtom, mA: cute.Tensor, copy_b: cute.CopyAtom, mB: cute.Tensor,
               mD: cute.Tensor, sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout):
        thread, _, _ = cute.arch.thread_idx()
        rank, m, n = cute.arch.block_idx()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        smem = cutlass.memory.SmemAllocator()
        ring = smem.allocate_array(Uint8, STAGES * (TILE_M + TILE_N) * 128, byte_alignment=1024)
        sA = cute.make_tensor(cute.recast_ptr(ring, sA_layout.inner, self.dtype), sA_layout.outer)  # (M, K, stage)
        sB = cute.make_tensor(cute.recast_ptr(ring + STAGES * TILE_M * 128, sB_layout.inner, self.dtype),
                              sB_layout.outer)  # (N, K, stage)
        sSums = cute.make_tensor(cute.recast_ptr(ring, dtype=Float32), cute.make_layout(
            (TILE_M, TILE_N), stride=(PITCH, 1)))  # where the stages were, once they are read
        agents = [pipeline.CooperativeGroup(pipeline.Agent.Thread, threads) for threads in (1, MATH_THREADS)]
        producer, consumer = pipeline.PipelineTmaAsync.create(
            num_stages=STAGES, producer_group=agents[0], consumer_group=agents[1], tx_count=(TILE_M + TILE_N) * 128,
            cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)), enable_multicast_signaling=True).make_participants()
        k_tiles = cute.ceil_div(mA.shape[1], TILE_K)
        k_first, k_last = k_tiles * rank // self.split, k_tiles * (rank + 1) // self.split  # at least one tile

        if warp_idx >= MATH_THREADS // 32:
            if warp_idx == MATH_THREADS // 32:  # one warp loads
                gA = cute.local_tile(mA, (TILE_M, TILE_K), (m, None))  # (TILE_M, TILE_K, k_tiles)
                gB = cute.local_tile(mB, (TILE_N, TILE_K), (n, None))  # (TILE_N, TILE_K, k_tiles)
                for k in cutlass.range(k_first, k_last, unroll=1):
                    stage = producer.acquire_and_advance()
                    for copy, gX, sX in ((copy_a, gA, sA), (copy_b, gB, sB)):
                        block_copy(copy, cute.group_modes(gX, 0, 2)[None, k],
                                   cute.group_modes(sX, 0, 2)[None, stage.index], tma_bar_ptr=stage.barrier)
                producer.tail()
        else:
            warpgroup_mma = mma.get_slice(cute.arch.make_warp_uniform(thread // 128) * 128)
            tCrA = mma.make_fragment_A(warpgroup_mma.partition_A(sA))  # (MMA, M, K, stage)
            tCrB = mma.make_fragment_B(warpgroup_mma.partition_B(sB))  # (MMA, N, K, stage)
            tCsSums = mma.get_slice(thread).partition_C(sSums)
            acc = cute.make_rmem_tensor(tCsSums.shape, Float32)
            behind = consumer.clone()
            mma.set(warpgroup.Field.ACCUMULATE, False)
            for k in cutlass.range(k_first, k_last, unroll=1):
                stage = consumer.wait_and_advance()
                warpgroup.fence()
                for block in cutlass.range_constexpr(TILE_K // 16):
                    at = (None, None, block, stage.index)
                    cute.gemm(mma, acc, tCrA[at], tCrB[at], acc)
                    mma.set(warpgroup.Field.ACCUMULATE, True)
                warpgroup.commit_group()
                warpgroup.wait_group(1)  # the products of the previous stage are done, so it can be loaded again
                if k > k_first:
                    behind.release()
                    behind.advance()
            warpgroup.wait_group(0)
            behind.release()
            pipeline.NamedBarrier(barrier_id=1, num_threads=MATH_THREADS).arrive_and_wait()  # both have read the stages
            cute.autovec_copy(acc, tCsSums)

        cute.arch.cluster_arrive()  # all threads: the sums of all parts are in shared memory
        cute.arch.cluster_wait()
        rows, quads = const_expr(TILE_M // self.split), const_expr(TILE_N // 4)  # this CTA's share, in fours of columns
        layout = cute.make_layout((4, quads, TILE_M), stride=(1, 4, PITCH))
        parts = [cute.make_tensor(cute.arch.map_dsmem_ptr(sSums.iterator, peer), layout) for peer in range(self.split)]
        total, part = cute.make_rmem_tensor(4, Float32), cute.make_rmem_tensor(4, Float32)
        for i in cutlass.range(thread, rows * quads, MATH_THREADS + 128, unroll=1):
            row, quad = rank * rows + i // quads, i % quads
            if m * TILE_M + row < mD.shape[0] and n * TILE_N + 4 * quad < mD.shape[1]:
                total.fill(0.0)
                for theirs in parts:
                    cute.autovec_copy(theirs[None, quad, row], part)
                    total.store(total.load() + part.load())
                rD = cute.make_rmem_tensor(4, self.dtype)
                rD.store(total.load().to(self.dtype))
                gD = cute.local_tile(mD, (1, 4), (m * TILE_M + row, n * quads + quad))
                cute.autovec_copy(rD, gD[0, None])
        cute.arch.cluster_arrive()  # nobody leaves while the others read its shared memory
        cute.arch.cluster_wait()


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(split, dtype, majors):
    M, N, K, columns = cute.sym_int(), cute.sym_int(), cute.sym_int(), cute.sym_int(divisibility=8)

    def fake(shape, major):
        step = cute.sym_int64(divisibility=8)
        return make_fake_tensor(DTYPES[dtype], shape, (step, 1) if major == "k" else (1, step), assumed_align=16)

    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(SplitKGemm(split), fake((M, K), majors[0]), fake((N, K), majors[1]), fake((M, columns), "k"),
                        stream, options="--enable-tvm-ffi")


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


def _operand(name, x):
    """(x with a usable stride where it has one row or column, "k" or "m": along which mode it is contiguous)."""
    _require(x.data_ptr() % 16 == 0, f"{name} must begin at a multiple of 16 bytes: clone it")
    for major, along in (("k", 1), ("m", 0)):
        step = x.stride(1 - along) if x.shape[1 - along] > 1 else -(-x.shape[along] // 8) * 8
        if (x.stride(along) == 1 or x.shape[along] == 1) and step > 0 and step % 8 == 0:
            return x.as_strided(x.shape, (step, 1) if major == "k" else (1, step)), major
    raise ValueError(f"{name} {tuple(x.shape)} has strides {x.stride()}: one must be 1, the other a multiple of 8, for "
                     "TMA; pad the rows")


def kernel_fn(a, b, *, split=None):
    """a @ b.mT, (M, N), for a (M, K) and b (N, K); ValueError for what the kernel cannot take.

    split: the CTAs that share the K of a tile, one of SPLITS and at most K / 64; by default what `choose` says."""
    _require(a.ndim == b.ndim == 2 and a.shape[1] == b.shape[1] > 0,
             f"a must be (M, K) and b (N, K), K > 0, got {tuple(a.shape)} and {tuple(b.shape)}")
    _require(a.dtype in DTYPES and a.dtype == b.dtype, f"a and b must be bfloat16 or float16, got {a.dtype}, {b.dtype}")
    (m, k), n = a.shape, len(b)
    _require(split is None or (split in SPLITS and split <= -(-k // TILE_K)),
             f"split must be one of {SPLITS} and at most {-(-k // TILE_K)}, the K tiles of {k}, got {split}")
    _require(not torch.is_grad_enabled() or not (a.requires_grad or b.requires_grad), "no backward: detach a and b")
    (a, major_a), (b, major_b) = _operand("a", a), _operand("b", b)
    _require(a.is_cuda and a.device == b.device, f"a and b must be on one CUDA device, got {a.device} and {b.device}")
    out = a.new_empty(m, -(-n // 8) * 8)
    if m and n:
        split = split or choose(m, n, k, torch.cuda.get_device_properties(a.device).multi_processor_count)
        _compiled(split, a.dtype, major_a + major_b)(a, b, out)
    return out[:, :n].contiguous()


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
