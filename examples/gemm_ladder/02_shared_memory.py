"""Rung 2: a CTA keeps tiles of A and B in shared memory, a thread 8 x 8 elements of D in registers.

An element that a CTA loads serves 128 multiplications instead of one, and an element that a thread reads from shared
memory eight. What limits it now are the products themselves: the float32 units have a fifteenth of the rate of the
tensor cores.
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in ((128, 256, 64), (130, 264, 200), (1, 8, 8))}
BENCH_CASES = {f"{n}": {"m": n, "n": n, "k": n} for n in (1024, 4096)}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"FFMA": ">=512", "LDG.128": ">0", "LDS.128": ">0", "spill_bytes": 0}}


def flops(a, b):
    return 2 * a.numel() * b.shape[0]


def get_inputs(m=4096, n=4096, k=4096, device="cuda"):
    """[A (M, K), B (N, K)], bfloat16; B is scaled so that A @ B^T is of order one."""
    a, b = (torch.randn(rows, k, dtype=torch.bfloat16, device=device) for rows in (m, n))
    return [a, b * k**-0.5]


def reference_fn(a, b):
    return a @ b.T


# --- Device ----------------------------------------------------------------------------------------------------------

TILE, DEPTH = 128, 16  # a tile of D is TILE x TILE, those of A and B are TILE x DEPTH
PITCH = TILE + 4  # of a row of shared memory: neighbouring threads write to different banks


@cute.kernel
def _kernel(mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((TILE, DEPTH), stride=(1, PITCH))  # transposed: a thread reads 8 rows at a time
    sA, sB = smem.allocate_tensor(Float32, layout, 16), smem.allocate_tensor(Float32, layout, 16)
    row, column = thread // 2, thread % 2 * 8  # of the vector that a thread loads of each tile
    across, down = thread % 16 * 8, thread // 16 * 8  # of the square of D that it computes
    rA, rB = cute.make_rmem_tensor(8, Float32), cute.make_rmem_tensor(8, Float32)
    acc = cute.make_rmem_tensor((8, 8), Float32)
    acc.fill(0.0)
    for k in cutlass.range(0, mA.shape[1], DEPTH):
        for mX, sX, block in ((mA, sA, block_m), (mB, sB, block_n)):
            rX = cute.make_rmem_tensor(8, mX.element_type)
            rX.fill(0.0)
            if (block * TILE + row < mX.shape[0]) & (k + column < mX.shape[1]):
                cute.autovec_copy(cute.local_tile(mX[block * TILE + row, None], (8,), ((k + column) // 8,)), rX)
            for i in cutlass.range_constexpr(8):
                sX[row, column + i] = rX[i].to(Float32)
        cute.arch.barrier()
        for d in cutlass.range_constexpr(DEPTH):
            cute.autovec_copy(cute.local_tile(sA[None, d], (8,), (down // 8,)), rA)
            cute.autovec_copy(cute.local_tile(sB[None, d], (8,), (across // 8,)), rB)
            for i in cutlass.range_constexpr(8):
                for j in cutlass.range_constexpr(8):
                    acc[i, j] += rA[i] * rB[j]
        cute.arch.barrier()  # all have read the tiles: the next may come
    n = block_n * TILE + across
    for i in cutlass.range_constexpr(8):
        m = block_m * TILE + down + i
        if (m < mD.shape[0]) & (n < mD.shape[1]):
            rD = cute.make_rmem_tensor(8, mD.element_type)
            for j in cutlass.range_constexpr(8):
                rD[j] = acc[i, j].to(mD.element_type)
            cute.autovec_copy(rD, cute.local_tile(mD[m, None], (8,), (n // 8,)))


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(mD.shape[1], TILE), cute.ceil_div(mD.shape[0], TILE), 1)
    _kernel(mA, mB, mD).launch(grid=grid, block=(256, 1, 1), stream=stream)


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
