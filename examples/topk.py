"""Top-k of each row, values and indices in descending order (memory-bound for small k).

Idea      A warp keeps a row in registers, as integers that sort like the numbers. The largest is found k times: lanes
          offer their best, one redux.sync picks the value, a second the lowest index that has it, its owner drops it.
Layout    A warp per row, WARPS rows per CTA; lane l holds elements u * 32 + l, so accesses are contiguous for any N.
Requires  sm_80 or newer; float32, float16 or bfloat16; 1 to 1024 contiguous columns (experts of a router, not words of
          a vocabulary), k of 1 to 32 at most N. Equal values go by index; NaN is the greatest. No backward.
Verify    python scripts/verify_kernel.py examples/topk.py
Measured  H200: 57.5 us for 65536 x 256, k = 8, a seventeenth of torch.topk's time
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {
    **{f"{m}x{n} k={k}": {"shape": (m, n), "k": k} for m, n, k in ((0, 8, 2), (1, 1, 1), (77, 60, 6), (33, 1000, 32))},
    "fp32": {"shape": (130, 160), "k": 8, "dtype": torch.float32},
    "fp16": {"shape": (130, 128), "k": 4, "dtype": torch.float16},
}
BENCH_CASES = {f"{m}x{n} k={k}": {"shape": (m, n), "k": k} for m, n, k in ((65536, 256, 8), (65536, 64, 6), (9, 64, 6))}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"spill_bytes": 0} for arch in ARCHS} | {"sm_90a": {"REDUX": ">0", "spill_bytes": 0}}


def get_inputs(shape=(4096, 256), k=8, dtype=torch.bfloat16, device="cuda"):
    """[x (M, N), normally distributed, k]."""
    return [torch.randn(shape, dtype=dtype, device=device), k]


def reference_fn(x, k):
    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[:, :k].contiguous(), indices[:, :k].contiguous()


# --- Configuration ---------------------------------------------------------------------------------------------------

WARPS = 4  # rows of a CTA
LEAST, NOWHERE = -(2**31), 2**31 - 1  # a key below every number's; an index beyond every column's, and the key of NaN
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


@cute.jit
def topk(mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor, stream: cuda.CUstream):
    """mV[m, :] (K) the largest of mX[m, :] (N), mI[m, :] (K) where they are."""
    grid = (cute.ceil_div(cute.size(mX, mode=[0]), WARPS), 1, 1)
    _topk(mX, mV, mI).launch(grid=grid, block=(WARPS * 32, 1, 1), stream=stream)


@cute.kernel
def _topk(mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, Int64(block) * WARPS + thread // 32
    if row < cute.size(mX, mode=[0]):
        columns, k, gX = mX.shape[1], mV.shape[1], mX[row, None]  # (N)
        keys = cute.make_rmem_tensor((columns + 31) // 32, Int32)  # (U)
        for u in cutlass.range_constexpr(cute.size(keys)):
            keys[u] = Int32(LEAST)
            if u * 32 + lane < columns:
                x = gX[u * 32 + lane].to(Float32) + 0.0  # -0.0 + 0.0 is 0.0
                bits = x.bitcast(Int32)
                keys[u] = bits ^ ((bits >> 31) & 0x7FFFFFFF) if x == x else Int32(NOWHERE)
        for rank in cutlass.range_constexpr(k):
            best, column = Int32(LEAST), Int32(NOWHERE)
            for u in cutlass.range_constexpr(cute.size(keys)):
                if keys[u] > best:
                    best, column = keys[u], u * 32 + lane
            top = cute.arch.warp_redux_sync(best, "max")
            if best < top:
                column = Int32(NOWHERE)
            winner = cute.arch.warp_redux_sync(column, "min")
            if column == winner:  # one lane: it writes and drops the element
                bits = top ^ ((top >> 31) & 0x7FFFFFFF)
                mV[row, rank], mI[row, rank] = bits.bitcast(Float32).to(mV.element_type), Int64(winner)
                for u in cutlass.range_constexpr(cute.size(keys)):
                    if u * 32 + lane == winner:
                        keys[u] = Int32(LEAST)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, columns, k):
    dtype, rows = DTYPES[dtype], cute.sym_int64()
    mX = make_fake_tensor(dtype, (rows, columns), stride=(cute.sym_int64(), 1), assumed_align=dtype.width // 8)
    mV = make_fake_tensor(dtype, (rows, k), stride=(k, 1), assumed_align=dtype.width // 8)
    mI = make_fake_tensor(Int64, (rows, k), stride=(k, 1), assumed_align=8)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(topk, mX, mV, mI, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x, k):
    """(values (M, k), indices (M, k) int64) of the k largest of each row of x (M, N); ValueError for other input."""
    if x.ndim != 2 or x.dtype not in DTYPES or not x.is_cuda or not 1 <= x.shape[1] <= 1024 or not 1 <= k <= 32:
        raise ValueError("top-k takes a float32, float16 or bfloat16 matrix of 1 to 1024 columns on a CUDA device and "
                         f"k of 1 to 32; got {x.dtype} of shape {tuple(x.shape)} on {x.device} and k={k}")
    if k > x.shape[1] or x.stride(1) != 1 < x.shape[1] or (x.requires_grad and torch.is_grad_enabled()):
        raise ValueError("x must have contiguous columns, at least k of them, and need no gradient; got "
                         f"shape {tuple(x.shape)}, strides {x.stride()}, k={k}, requires_grad={x.requires_grad}")
    values, indices = x.new_empty((x.shape[0], k)), x.new_empty((x.shape[0], k), dtype=torch.int64)
    if x.shape[0]:
        _launcher(x.dtype, x.shape[1], k)(x, values, indices)
    return values, indices


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
