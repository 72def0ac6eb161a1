"""Rung 6: a cluster of CTAs shares a long row.

One big CTA fills an SM alone: while it waits for its loads, reduces or stores, nothing else runs there. Small CTAs
overlap each other, so past 8192 columns a row goes to a cluster of them; each warp sends its pair to every CTA with
st.async, whose bytes the receiver's barrier counts. The start-up handshake of the cluster hides behind the loads.
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((5, 64), (130, 1024), (3, 8192), (2, 65536))}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((16384, 4096), (4096, 32768), (2048, 131072), (32768, 256))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"LDG.128": ">0", "STG.128": ">0", "spill_bytes": 0}}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, device="cuda"):
    """[x (M, N)], normally distributed."""
    return [torch.randn(shape, dtype=dtype, device=device)]


def reference_fn(x):
    return torch.softmax(x, dim=-1)


# --- Device ----------------------------------------------------------------------------------------------------------

LOG2E = 1.4426950408889634
LOWEST = -3.4028234663852886e38  # the maximum of nothing; finite, because -inf - -inf is NaN


@cute.kernel
def _kernel(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr, vectors: cutlass.Constexpr,
            cluster: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row, rank = block // cluster, block % cluster
    warps = threads // 32
    smem = cutlass.memory.SmemAllocator()
    sP = smem.allocate_tensor(Float32, cute.make_layout((2, cluster * warps)), 16)  # (K, W) of each warp: maximum, sum
    arrived = smem.allocate_array(Int64, 1)  # barrier that counts their bytes
    if thread == 0:
        cute.arch.mbarrier_init(arrived, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(arrived, 4 * cute.size(sP))
    cute.arch.cluster_arrive_relaxed()
    gX, gY = (cute.zipped_divide(mT[row, None], (8,)) for mT in (mX, mY))  # (V, N / V)
    first = rank * threads * vectors + thread
    rX = cute.make_rmem_tensor((8, vectors), mX.element_type)  # (V, U)
    rX.fill(-Float32.inf)
    for u in cutlass.range_constexpr(vectors):
        if first + u * threads < mX.shape[1] // 8:
            cute.autovec_copy(gX[None, first + u * threads], rX[None, u])
    x = rX.load().to(Float32)
    maximum = cute.arch.warp_reduction(x.reduce(cute.ReductionOp.MAX, LOWEST, 0), cute.arch.fmax)
    e = cute.math.exp2((x - maximum) * LOG2E, fastmath=True)
    total = cute.arch.warp_reduction(e.reduce(cute.ReductionOp.ADD, 0.0, 0), lambda a, b: a + b)
    cute.arch.cluster_wait()  # until every CTA has its barrier
    if thread % 32 < cluster:
        words = (maximum.bitcast(Int32), total.bitcast(Int32))
        cute.arch.store_async_dsmem(sP[None, rank * warps + thread // 32].iterator, words, arrived, thread % 32)
    cute.arch.mbarrier_wait(arrived, 0)
    parts, row_maximum, row_total = cluster * warps, Float32(LOWEST), Float32(0.0)
    for p in cutlass.range_constexpr((parts + 31) // 32):
        if thread % 32 + 32 * p < parts:
            row_maximum = cute.arch.fmax(row_maximum, sP[0, thread % 32 + 32 * p])
    row_maximum = cute.arch.warp_reduction(row_maximum, cute.arch.fmax)
    for p in cutlass.range_constexpr((parts + 31) // 32):
        if thread % 32 + 32 * p < parts:
            scale = cute.math.exp2((sP[0, thread % 32 + 32 * p] - row_maximum) * LOG2E, fastmath=True)
            row_total += sP[1, thread % 32 + 32 * p] * scale
    total = cute.arch.warp_reduction(row_total, lambda a, b: a + b)
    e = e * cute.math.exp2((maximum - row_maximum) * LOG2E, fastmath=True)
    rX.store((e * (1.0 / total)).to(mY.element_type))
    for u in cutlass.range_constexpr(vectors):
        if first + u * threads < mX.shape[1] // 8:
            cute.autovec_copy(rX[None, u], gY[None, first + u * threads])


@cute.jit
def softmax(mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
    cluster = max(1, min(8, mX.shape[1] // 8192))
    vectors = -(-mX.shape[1] // 8 // cluster)
    threads = max(32, min(256, (vectors // 4 + 31) // 32 * 32))
    kernel = _kernel(mX, mY, threads, -(-vectors // threads), cluster)
    kernel.launch(grid=(mX.shape[0] * cluster, 1, 1), block=(threads, 1, 1), cluster=(cluster, 1, 1), stream=stream)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(columns):
    rows = cute.sym_int()
    mX = make_fake_tensor(cutlass.BFloat16, (rows, columns), stride=(columns, 1), assumed_align=16)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(softmax, mX, mX, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    """softmax(x, -1), new; x (M, N) contiguous bfloat16 on a CUDA device, N a multiple of 8; else ValueError."""
    if x.ndim != 2 or x.dtype != torch.bfloat16 or not x.is_cuda or not x.is_contiguous() or x.shape[1] % 8:
        raise ValueError(f"x must be a contiguous bfloat16 matrix on a CUDA device with a multiple of 8 columns; "
                         f"got {x.dtype} of shape {tuple(x.shape)} with strides {x.stride()} on {x.device}")
    out = torch.empty_like(x)
    if x.numel():
        _launcher(x.shape[1])(x, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
