"""Top-k of each row, values and indices in descending order (memory-bound for small k).

Idea      The lanes of a row keep it in registers, as integers that sort like the numbers. Each sorts its own few by a
          network; then the largest is found k times: lanes offer their first, redux.sync picks the greatest, its owner
          moves up. A 16-bit number leaves room for its column in the key, so that equal ones differ; for float32 a
          second redux.sync finds the lowest column. Lane r keeps the element of rank r, so that stores are contiguous.
Layout    A row belongs to 8 elements a lane, or to a whole warp; neighbouring vectors of it to neighbouring lanes.
Requires  sm_80 or newer; float32, float16 or bfloat16; 1 to 1024 contiguous columns (experts of a router, not words of
          a vocabulary), k of 1 to 32 at most N. Equal values go by index; NaN is the greatest. No backward.
Verify    python scripts/verify_kernel.py examples/topk.py
Measured  H200, before two of its last instructions changed places: 24.4 us for 65536 x 256, k = 8, a 34th of
          torch.topk's time, 0.79 of the speed of Quack's bitonic merge
          (results/h200-2026-11-24-b80c2d5-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

SIZES = ((0, 8, 2), (1, 1, 1), (77, 60, 6), (33, 1000, 32), (130, 64, 8), (129, 100, 4))
TEST_CASES = {
    **{f"{m}x{n} k={k}": {"shape": (m, n), "k": k} for m, n, k in SIZES},
    "fp32": {"shape": (130, 160), "k": 8, "dtype": torch.float32},
    "fp16": {"shape": (130, 128), "k": 4, "dtype": torch.float16},
}
BENCH_SIZES = ((65536, 256, 8), (65536, 64, 8), (65536, 60, 6), (9, 64, 6))
BENCH_CASES = {f"{m}x{n} k={k}": {"shape": (m, n), "k": k} for m, n, k in BENCH_SIZES}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"spill_bytes": 0} for arch in ARCHS} | {"sm_90a": {"REDUX": ">0", "spill_bytes": 0}}


def get_inputs(shape=(4096, 256), k=8, dtype=torch.bfloat16, device="cuda"):
    """[x (M, N), normally distributed, k]."""
    return [torch.randn(shape, dtype=dtype, device=device), k]


def reference_fn(x, k):
    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[:, :k].contiguous(), indices[:, :k].contiguous()


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 128  # of a CTA, for 4 rows or more
LEAST, NOWHERE = -(2**31), 2**31 - 1  # a key below every number's; an index beyond every column's, and the key of NaN
LOW_BITS = 1023  # of a float32 that a 16-bit number leaves 0, and that hold its column in a packed key
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


def exchanges(n):
    """Pairs (i, j), i < j, of a network that sorts n elements: Batcher's odd-even merge sort."""
    size = 1 << (n - 1).bit_length()
    for p in (1 << i for i in range(size.bit_length() - 1)):
        for k in (p >> i for i in range(p.bit_length())):
            for j in range(k % p, size - k, 2 * k):
                for i in range(j, min(j + k, size - k)):
                    if i // (2 * p) == (i + k) // (2 * p) and i + k < n:  # elements from n on would be the least
                        yield i, i + k


class TopK:
    """mV[m, :] (K) the largest of mX[m, :] (N), mI[m, :] (K) where they are. vector: of an access; it divides N."""

    def __init__(self, dtype, columns, k, vector, lanes):
        self.columns, self.k, self.vector, self.lanes = columns, k, vector, lanes
        self.count = -(-columns // (lanes * vector)) * vector  # elements of a lane
        self.is_packed = dtype.width == 16  # the column fits into bits of the key that no number uses

    @cute.jit
    def __call__(self, mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor, stream: cuda.CUstream):
        grid = (cute.ceil_div(cute.size(mX, mode=[0]), THREADS // self.lanes), 1, 1)
        self.kernel(mX, mV, mI).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        lane, row = thread % self.lanes, Int64(block) * (THREADS // self.lanes) + thread // self.lanes
        keys, columns = self.load(mX, row, lane)
        for i, j in exchanges(self.count):
            self.order(keys, columns, i, j)
        my_key, my_column = Int32(0), Int32(0)  # what lane r has to write: the element of rank r
        for rank in cutlass.range_constexpr(self.k):
            top = self.across(keys[0], "max")
            winner = Int32(LOW_BITS) - (top & LOW_BITS)
            if const_expr(not self.is_packed):
                winner = self.across(columns[0] if keys[0] == top else Int32(NOWHERE), "min")
            if lane == rank:
                my_key, my_column = top, winner
            left = min(self.count, self.k - rank)  # that may still be among the k largest
            if (keys[0] == top) & (self.is_packed or columns[0] == winner):
                for i in cutlass.range_constexpr(left):
                    keys[i] = keys[i + 1] if i + 1 < self.count else Int32(LEAST)
                    if const_expr(not self.is_packed and i + 1 < self.count):
                        columns[i] = columns[i + 1]
        if (lane < self.k) & (row < cute.size(mX, mode=[0])):
            bits = my_key ^ ((my_key >> 31) & 0x7FFFFFFF)
            if const_expr(self.is_packed):  # after the xor, which sets the low bits of a negative number
                bits = bits & ~LOW_BITS
            mV[row, lane], mI[row, lane] = bits.bitcast(Float32).to(mV.element_type), Int64(my_column)

    def across(self, value, kind):
        """The "max" or "min" of an Int32 over the lanes of a row."""
        if self.lanes == 32:
            return cute.arch.warp_redux_sync(value, kind)
        operation = {"max": cutlass.max, "min": cutlass.min}[kind]
        return cute.arch.warp_reduction(value, operation, threads_in_group=self.lanes)

    @cute.jit
    def load(self, mX, row, lane):
        """A lane's elements (U,) of a row as integers that sort like the numbers, and their columns (U,)."""
        rX = cute.make_rmem_tensor((self.vector, self.count // self.vector), mX.element_type)  # (V, U / V)
        keys, columns = (cute.make_rmem_tensor(self.count, Int32) for _ in range(2))  # (U)
        for i in cutlass.range_constexpr(self.count // self.vector):
            first = cute.assume((i * self.lanes + lane) * self.vector, divby=self.vector)
            if (first < self.columns) & (row < cute.size(mX, mode=[0])):
                pointer = mX[row, None].iterator + first
                cute.autovec_copy(cute.make_tensor(pointer, cute.make_layout(self.vector)), rX[None, i])
            for v in cutlass.range_constexpr(self.vector):
                u, column, x = i * self.vector + v, first + v, rX[v, i].to(Float32) + 0.0  # -0.0 + 0.0 is 0.0
                bits = x.bitcast(Int32)
                key = bits ^ ((bits >> 31) & 0x7FFFFFFF) if x == x else Int32(NOWHERE)
                if const_expr(self.is_packed):
                    key = (key & ~LOW_BITS) | (LOW_BITS - column)
                keys[u], columns[u] = key if first < self.columns else Int32(LEAST), column
        return keys, columns

    @cute.jit
    def order(self, keys, columns, i, j):
        """The greater of two elements to i; of equal ones that of the lower column."""
        if const_expr(self.is_packed):
            keys[i], keys[j] = cutlass.max(keys[i], keys[j]), cutlass.min(keys[i], keys[j])
        else:
            if (keys[j] > keys[i]) | ((keys[j] == keys[i]) & (columns[j] < columns[i])):
                keys[i], keys[j], columns[i], columns[j] = keys[j], keys[i], columns[j], columns[i]


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, columns, k, vector, lanes):
    dtype, rows, stride = DTYPES[dtype], cute.sym_int64(), cute.sym_int64(divisibility=vector)
    mX = make_fake_tensor(dtype, (rows, columns), stride=(stride, 1), assumed_align=vector * dtype.width // 8)
    mV = make_fake_tensor(dtype, (rows, k), stride=(k, 1), assumed_align=dtype.width // 8)
    mI = make_fake_tensor(Int64, (rows, k), stride=(k, 1), assumed_align=8)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernel = TopK(dtype, columns, k, vector, lanes)
    return cute.compile(kernel, mX, mV, mI, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


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
        columns, size = x.shape[1], x.itemsize
        bits = 16 | x.data_ptr() | x.stride(0) * size | columns * size
        lanes = min(32, 1 << (max(k, -(-columns // 8)) - 1).bit_length())
        vector = min((bits & -bits) // size, 1 << max(0, (columns // lanes).bit_length() - 1))  # all have elements
        _launcher(x.dtype, columns, k, vector, lanes)(x, values, indices)
    return values, indices


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
