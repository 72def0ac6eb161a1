"""Rung 1: one thread per element of D, one multiplication at a time.

Right, and the memory system's worst case: of two 2-byte loads for each multiplication one is broadcast to the warp, and
the other goes to 32 rows of B, so that each costs a sector of 32 bytes.
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
EXPECT = {"sm_90a": {"FFMA": ">0", "LDG.16": ">0", "spill_bytes": 0}}


def flops(a, b):
    return 2 * a.numel() * b.shape[0]


def get_inputs(m=4096, n=4096, k=4096, device="cuda"):
    """[A (M, K), B (N, K)], bfloat16; B is scaled so that A @ B^T is of order one."""
    a, b = (torch.randn(rows, k, dtype=torch.bfloat16, device=device) for rows in (m, n))
    return [a, b * k**-0.5]


def reference_fn(a, b):
    return a @ b.T


# --- Device ----------------------------------------------------------------------------------------------------------

@cute.kernel
def _kernel(mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor):
    lane, warp, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    m, n = block_m * 8 + warp, block_n * 32 + lane
    if (m < mD.shape[0]) & (n < mD.shape[1]):
        total = Float32(0.0)
        for k in cutlass.range(mA.shape[1]):
            total += mA[m, k].to(Float32) * mB[n, k].to(Float32)
        mD[m, n] = total.to(mD.element_type)


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, stream: cuda.CUstream):
    grid = (cute.ceil_div(mD.shape[1], 32), cute.ceil_div(mD.shape[0], 8), 1)
    _kernel(mA, mB, mD).launch(grid=grid, block=(32, 8, 1), stream=stream)


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
