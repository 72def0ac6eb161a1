"""Rung 3: tensor cores, by the instruction that every GPU since Ampere has (mma.sync).

Eight warps multiply 16 x 8 x 16 at a time out of registers, which ldmatrix fills from shared memory. Loads, the way
through registers into shared memory, and products follow one another: the tensor cores wait most of the time.
templates/gemm_sm80.py is this rung with loads that overlap (cp.async, several stages).
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in ((128, 256, 64), (130, 264, 200), (1, 8, 8))}
BENCH_CASES = {f"{n}": {"m": n, "n": n, "k": n} for n in (1024, 4096)}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HMMA": ">0", "LDSM": ">0", "LDG.128": ">0", "spill_bytes": 0}}


def flops(a, b):
    return 2 * a.numel() * b.shape[0]


def get_inputs(m=4096, n=4096, k=4096, device="cuda"):
    """[A (M, K), B (N, K)], bfloat16; B is scaled so that A @ B^T is of order one."""
    a, b = (torch.randn(rows, k, dtype=torch.bfloat16, device=device) for rows in (m, n))
    return [a, b * k**-0.5]


def reference_fn(a, b):
    return a @ b.T


# --- Device ----------------------------------------------------------------------------------------------------------

TILE, DEPTH = 128, 64  # a tile of D is TILE x TILE, those of A and B are TILE x DEPTH
THREADS = 256


@cute.kernel
def _kernel(tiled_mma: cute.TiledMma, mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    # 128-byte rows whose 16-byte vectors are exchanged by row: ldmatrix reads 8 rows of a column without a conflict
    layout = cute.make_layout((TILE, DEPTH), stride=(DEPTH, 1))
    sA, sB = (smem.allocate_tensor(mA.element_type, layout, 1024, swizzle=cute.make_swizzle(3, 4, 3)) for _ in range(2))
    thr_mma = tiled_mma.get_slice(thread)
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), mA.element_type)
    copy_a = cute.make_tiled_copy_A(ldmatrix, tiled_mma).get_slice(thread)
    copy_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma).get_slice(thread)
    tCrA, tCrB = thr_mma.make_fragment_A(thr_mma.partition_A(sA)), thr_mma.make_fragment_B(thr_mma.partition_B(sB))
    acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((TILE, TILE)), Float32)
    acc.fill(0.0)
    for k in cutlass.range(0, mA.shape[1], DEPTH):
        for mX, sX, block in ((mA, sA, block_m), (mB, sB, block_n)):
            for i in cutlass.range_constexpr(TILE * DEPTH // 8 // THREADS):
                row, column = (i * THREADS + thread) // (DEPTH // 8), thread % (DEPTH // 8)  # of a vector
                rX = cute.make_rmem_tensor(8, mX.element_type)
                rX.fill(0.0)
                if (block * TILE + row < mX.shape[0]) & (k + column * 8 < mX.shape[1]):
                    cute.autovec_copy(cute.local_tile(mX[block * TILE + row, None], (8,), (k // 8 + column,)), rX)
                cute.autovec_copy(rX, cute.local_tile(sX[row, None], (8,), (column,)))
        cute.arch.barrier()
        for d in cutlass.range_constexpr(DEPTH // 16):
            cute.copy(copy_a, copy_a.partition_S(sA)[None, None, d], copy_a.retile(tCrA)[None, None, d])
            cute.copy(copy_b, copy_b.partition_S(sB)[None, None, d], copy_b.retile(tCrB)[None, None, d])
            cute.gemm(tiled_mma, acc, tCrA[None, None, d], tCrB[None, None, d], acc)
        cute.arch.barrier()  # all have read the tiles: the next may come
    tCcD = thr_mma.partition_C(cute.make_identity_tensor((TILE, TILE)))
    for v in cutlass.range_constexpr(cute.size(acc)):
        at = (block_m * TILE + tCcD[v][0], block_n * TILE + tCcD[v][1])
        if cute.elem_less(at, mD.shape):
            mD[at] = acc[v].to(mD.element_type)


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, stream: cuda.CUstream):
    op = warp.MmaF16BF16Op(mA.element_type, Float32, (16, 8, 16))
    tiled_mma = cute.make_tiled_mma(op, (2, 4, 1), permutation_mnk=(32, 64, 16))  # warps along (M, N)
    grid = (cute.ceil_div(mD.shape[1], TILE), cute.ceil_div(mD.shape[0], TILE), 1)
    _kernel(tiled_mma, mA, mB, mD).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)


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
