"""A dead end: persistent CTAs that let the copy engine fetch the next rows into a ring in shared memory.

It should have kept more bytes in flight than registers can, and it does; memory was busy already. What it adds is a
trip through shared memory, and stores that wait for their CTA's turn instead of for nothing. It lost to rung 5.
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((5, 1024), (700, 4096), (300, 16384))}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((16384, 4096), (4096, 32768))}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"UBLKCP": ">0", "STG.128": ">0", "spill_bytes": 0}}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, device="cuda"):
    """[x (M, N)], normally distributed."""
    return [torch.randn(shape, dtype=dtype, device=device)]


def reference_fn(x):
    return torch.softmax(x, dim=-1)


# --- Device ----------------------------------------------------------------------------------------------------------

LOG2E = 1.4426950408889634
LOWEST = -3.4028234663852886e38  # the maximum of nothing; finite, because -inf - -inf is NaN
MOST_COLUMNS = 32768  # 4 vectors of 8 for each of 1024 threads; two such rows fit in shared memory, three do not


@cute.jit
def _send(gRow, sRow, full, bytes: cutlass.Constexpr):
    """Let the copy engine bring a row to shared memory; its bytes arrive on the barrier `full`."""
    cute.arch.mbarrier_arrive_and_expect_tx(full, bytes)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), gRow.element_type)
    cute.copy(atom, gRow, sRow, mbar_ptr=full)


@cute.kernel
def _kernel(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr, vectors: cutlass.Constexpr,
            stages: cutlass.Constexpr, ctas: Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    columns, rows, warps = mX.shape[1], mX.shape[0], threads // 32
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, cute.make_layout((columns, stages)), 128)  # (N, S)
    sP = smem.allocate_tensor(Float32, cute.make_layout((2, 32, 2)), 16)  # (K, W, parity of the row)
    full = smem.allocate_array(Int64, stages)
    if thread == 0:
        for s in cutlass.range_constexpr(stages):
            cute.arch.mbarrier_init(full + s, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.barrier()
    if thread == 0:
        for s in cutlass.range_constexpr(stages):
            if block + s * ctas < rows:
                _send(mX[block + s * ctas, None], sX[None, s], full + s, columns * 2)
    stage, phase, parity = Int32(0), Int32(0), Int32(0)
    for row in cutlass.range(block, rows, ctas):
        cute.arch.mbarrier_wait(full + stage, phase)
        gY = cute.zipped_divide(mY[row, None], (8,))  # (V, N / V)
        sRow = cute.zipped_divide(sX[None, stage], (8,))  # (V, N / V)
        rX = cute.make_rmem_tensor((8, vectors), mX.element_type)  # (V, U)
        for u in cutlass.range_constexpr(vectors):
            cute.autovec_copy(sRow[None, thread + u * threads], rX[None, u])
        x = rX.load().to(Float32)
        maximum = cute.arch.warp_reduction(x.reduce(cute.ReductionOp.MAX, LOWEST, 0), cute.arch.fmax)
        e = cute.math.exp2((x - maximum) * LOG2E, fastmath=True)
        total = cute.arch.warp_reduction(e.reduce(cute.ReductionOp.ADD, 0.0, 0), lambda a, b: a + b)
        if thread % 32 == 0:
            sP[0, thread // 32, parity], sP[1, thread // 32, parity] = maximum, total
        cute.arch.barrier()
        if thread == 0 and row + stages * ctas < rows:  # all have read the stage
            _send(mX[row + stages * ctas, None], sX[None, stage], full + stage, columns * 2)
        warp_maximum, maximum, total = maximum, Float32(LOWEST), Float32(0.0)
        if thread % 32 < warps:
            maximum, total = sP[0, thread % 32, parity], sP[1, thread % 32, parity]
        row_maximum = cute.arch.warp_reduction(maximum, cute.arch.fmax)
        total = total * cute.math.exp2((maximum - row_maximum) * LOG2E, fastmath=True)
        total = cute.arch.warp_reduction(total, lambda a, b: a + b)
        e = e * cute.math.exp2((warp_maximum - row_maximum) * LOG2E, fastmath=True)
        rX.store((e * (1.0 / total)).to(mY.element_type))
        for u in cutlass.range_constexpr(vectors):
            cute.autovec_copy(rX[None, u], gY[None, thread + u * threads])
        parity = parity ^ 1
        stage += 1
        if stage == stages:
            stage, phase = Int32(0), phase ^ 1


@cute.jit
def softmax(mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
    vectors = mX.shape[1] // 8
    threads = max(32, min(1024, vectors // 4))
    ctas = 132 * max(1, min(1024 // threads, 200 * 1024 // (4 * mX.shape[1])))  # with two rows each in shared memory
    kernel = _kernel(mX, mY, threads, vectors // threads, 2, ctas)
    kernel.launch(grid=(ctas, 1, 1), block=(threads, 1, 1), stream=stream)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(columns):
    rows = cute.sym_int()
    mX = make_fake_tensor(cutlass.BFloat16, (rows, columns), stride=(columns, 1), assumed_align=16)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(softmax, mX, mX, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    """softmax(x, -1), new; x (M, N) contiguous bfloat16 on a CUDA device, N a multiple of 1024, at most MOST_COLUMNS.

    Anything else raises ValueError.
    """
    fits = x.ndim == 2 and x.shape[1] % 1024 == 0 and x.shape[1] <= MOST_COLUMNS
    if not fits or x.dtype != torch.bfloat16 or not x.is_cuda or not x.is_contiguous():
        raise ValueError(f"x must be a contiguous bfloat16 matrix on a CUDA device, columns a multiple of 1024 and at "
                         f"most {MOST_COLUMNS}; got {x.dtype} of shape {tuple(x.shape)} with strides {x.stride()} on "
                         f"{x.device}")
    out = torch.empty_like(x)
    if x.numel():
        _launcher(x.shape[1])(x, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
