"""Inclusive prefix sum of each row, out[m, n] = sum(x[m, : n + 1]) (memory-bound).

Idea      A CTA walks a row tile by tile. A thread adds up its own few elements, a warp scans its threads' sums by
          shuffles, the warps meet once in shared memory, and what they add up to is carried into the next tile. The
          next tile is loaded before the current one is scanned, so the chain of carries does not wait for memory.
Layout    A row belongs to 1 to 8 warps, the more the longer it is; a CTA of 8 warps takes as many rows as fit. Thread t
          of a row holds the `vector` elements from t * vector on of each tile of 32 * warps * vector.
Requires  sm_80 or newer; float32, float16 or bfloat16; contiguous columns, any row stride; few rows leave SMs idle.
          Sums are float32, rounded once at the end. No backward.
Verify    python scripts/verify_kernel.py examples/prefix_sum.py
Measured  H200: 16.3 us for 4096 x 4096, 63.0 us for 65536 x 1024 (2.18 and 0.98 of torch.compile's speed)
          (results/h200-2026-11-24-b80c2d5-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

SHAPES = ((0, 8), (1, 1), (3, 1023), (77, 264), (5, 4096), (7, 4104), (2, 100001))
TEST_CASES = {
    **{f"{m}x{n}": {"shape": (m, n)} for m, n in SHAPES},
    "fp16": {"shape": (9, 2056), "dtype": torch.float16},
    "fp32": {"shape": (9, 2052), "dtype": torch.float32},
}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((4096, 4096), (1024, 65536), (65536, 1024), (65536, 256))}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">0", "STG.128": ">0", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, device="cuda"):
    """[x (M, N)], uniform between 0 and 1 / N, so that sums stay small."""
    return [torch.rand(shape, dtype=dtype, device=device) / shape[1]]


def reference_fn(x):
    return torch.cumsum(x, dim=-1, dtype=torch.promote_types(x.dtype, torch.float32)).to(x.dtype)


# --- Configuration ---------------------------------------------------------------------------------------------------

WARPS = 8  # of a CTA, for one row or several
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class PrefixSum:
    """mY[m, :] = cumsum(mX[m, :]). vector: elements per access, which divides N; warps: of a row."""

    def __init__(self, vector, warps):
        self.vector, self.warps, self.rows = vector, warps, WARPS // warps

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        grid = (cute.ceil_div(mX.shape[0], self.rows), 1, 1)
        self.kernel(mX, mY).launch(grid=grid, block=(self.warps * 32, self.rows, 1), stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor):
        thread, group, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        row, lane, warp = block * self.rows + group, thread % 32, thread // 32
        warps, width = self.warps, self.warps * 32
        smem = cutlass.memory.SmemAllocator()
        sW = smem.allocate_tensor(Float32, cute.make_layout((warps, 2, self.rows)), 16)  # (W, parity of the tile, R)
        carry, parity = Float32(0.0), Int32(0)
        x = self.load(mX, row, thread * self.vector)
        for tile in cutlass.range(0, mX.shape[1], width * self.vector):
            column = tile + thread * self.vector
            sums = cute.make_rmem_tensor(self.vector, Float32)  # (V)
            total = Float32(0.0)
            for v in cutlass.range_constexpr(self.vector):
                total += x[v].to(Float32)
                sums[v] = total
            x = self.load(mX, row, column + width * self.vector)

            scan = total  # of this thread and those before it in the warp
            for i in cutlass.range_constexpr(5):
                before = cute.arch.shuffle_sync_up(scan, offset=1 << i)
                if lane >= 1 << i:
                    scan += before
            start, tile_sum = carry, Float32(0.0)
            before = cute.arch.shuffle_sync_up(scan, offset=1)
            if lane > 0:
                start += before  # not scan - total, which is NaN after an infinite element
            if const_expr(warps == 1):
                tile_sum = cute.arch.shuffle_sync(scan, 31)
            else:
                if lane == 31:
                    sW[warp, parity, group] = scan
                cute.arch.barrier()
                for w in cutlass.range_constexpr(warps):
                    if w < warp:
                        start += sW[w, parity, group]
                    tile_sum += sW[w, parity, group]
            carry += tile_sum
            parity = parity ^ 1  # so that the next tile's sums do not meet this one's readers
            if (column < mX.shape[1]) & (row < mX.shape[0]):
                rY = cute.make_rmem_tensor(self.vector, mY.element_type)  # (V)
                rY.store((sums.load() + start).to(mY.element_type))
                cute.autovec_copy(rY, self.view(mY, row, column))

    def view(self, mT, row, column):
        pointer = mT[row, None].iterator + cute.assume(column, divby=self.vector)
        return cute.make_tensor(pointer, cute.make_layout(self.vector))  # (V)

    @cute.jit
    def load(self, mX, row, column):
        """The elements (V,) of a row from a column on, 0 past its end."""
        rX = cute.make_rmem_tensor(self.vector, mX.element_type)  # (V)
        rX.fill(0)
        if (column < mX.shape[1]) & (row < mX.shape[0]):
            cute.autovec_copy(self.view(mX, row, column), rX)
        return rX.load()


# --- Host ------------------------------------------------------------------------------------------------------------


def _warps(columns, vector):
    """Warps of a row, which are left two tiles or more each; a single one needs no barrier."""
    return min(WARPS, 1 << max(0, (columns // (64 * vector)).bit_length() - 1))


@functools.cache
def _launcher(dtype, vector, warps):
    dtype, rows, columns = DTYPES[dtype], cute.sym_int(), cute.sym_int(divisibility=vector)
    stride, alignment = (cute.sym_int64(divisibility=vector), 1), vector * dtype.width // 8
    mX = make_fake_tensor(dtype, (rows, columns), stride=stride, assumed_align=alignment)
    mY = make_fake_tensor(dtype, (rows, columns), stride=stride, assumed_align=alignment)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(PrefixSum(vector, warps), mX, mY, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x):
    """cumsum(x, -1) as a new contiguous tensor of x's dtype; x (M, N) on a CUDA device; ValueError for other input."""
    if x.ndim != 2 or x.dtype not in DTYPES or not x.is_cuda or max(x.shape) >> 30:
        raise ValueError("x must be a float32, float16 or bfloat16 matrix on a CUDA device, of less than 2^30 rows and "
                         f"columns; got {x.dtype} of shape {tuple(x.shape)} on {x.device}")
    if x.stride(1) != 1 < x.shape[1] or (x.requires_grad and torch.is_grad_enabled()):
        raise ValueError("x must have contiguous columns and need no gradient: pass x.detach().contiguous(); "
                         f"got strides {x.stride()} and requires_grad={x.requires_grad}")
    out, columns, size = torch.empty_like(x, memory_format=torch.contiguous_format), x.shape[1], x.itemsize
    if out.numel():
        bits = 16 | x.data_ptr() | x.stride(0) * size | columns * size
        vector = (bits & -bits) // size
        _launcher(x.dtype, vector, _warps(columns, vector))(x, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
