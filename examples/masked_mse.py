"""Mean squared error over what a mask keeps, sum((x - y)^2 [mask]) / count(mask), a scalar in float32 (memory-bound).

Idea      One launch: each CTA leaves its sum and its count, and counts itself in; the one that comes last adds those of
          all in the order of the CTAs. Results repeat bit by bit, which atomic additions of the sums would not. Two
          fences make it right: before a CTA counts itself in, behind its sums, and in the last one, before it reads.
Layout    The tensors are flat. Neighbouring threads take neighbouring vectors of 16 bytes, and with them those bytes
          of the mask; the grid strides over all. What fills no vector is left to the first CTA.
Requires  sm_80 or newer; float32, float16 or bfloat16, contiguous, one shape; a boolean mask of that shape, or None.
          No backward. PyTorch's fill kernel clears the counter before each launch, so it may be captured in a graph.
Verify    python scripts/verify_kernel.py examples/masked_mse.py
Measured  H100: 0.93 to 1.26 times as fast as torch.compile
          (results/h100-2026-11-26-45084e2-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Boolean, Float32, Int32, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {
    "one": {"shape": (1,)},
    "empty": {"shape": (0, 8)},
    "tail": {"shape": (37, 131)},
    "plain": {"shape": (37, 131), "masked": False},
    "fp16": {"shape": (3, 5, 1024), "dtype": torch.float16},
    "fp32": {"shape": (130, 128), "dtype": torch.float32},
}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((512, 512), (4096, 4096), (16384, 8192))}
BENCH_CASES["plain"] = {"shape": (16384, 8192), "masked": False}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">=8", "load_bytes_in_flight": ">=128", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(64, 333), dtype=torch.bfloat16, masked=True, device="cuda"):
    """[x, y, mask or None], x and y of `shape`, normally distributed; three quarters of the mask are True."""
    x, y = (torch.randn(shape, dtype=dtype, device=device) for _ in range(2))
    return [x, y, torch.rand(shape, device=device) < 0.75 if masked else None]


def reference_fn(x, y, mask=None):
    wide = torch.promote_types(x.dtype, torch.float32)
    squares = (x.to(wide) - y.to(wide)).square()
    if mask is None:
        return squares.sum() / max(x.numel(), 1)
    return torch.where(mask, squares, 0.0).sum() / mask.sum().clamp(min=1)


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 256
UNROLL = 4  # vectors of a thread in flight, of each tensor
CTAS = 396  # at most: as many as run at once on an H200
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class MaskedMse:
    """mOut[0] = mean of (mX - mY)^2 where mM, all of shape (N,). mSums, mCounts (CTAs,): scratch; mArrived[0] = 0."""

    def __init__(self, vector):
        self.vector = vector  # elements of an access; every tensor starts at a multiple of it

    @cute.jit
    def __call__(self, mX, mY, mM, mSums, mCounts, mArrived, mOut, stream: cuda.CUstream):
        grid = (mSums.shape[0], 1, 1)
        self.kernel(mX, mY, mM, mSums, mCounts, mArrived, mOut).launch(
            grid=grid, block=(THREADS, 1, 1), stream=stream,
            min_blocks_per_mp=1,  # else ptxas moves the loads to their uses: 56 bytes of a thread in flight, not 160
        )

    @cute.kernel
    def kernel(self, mX, mY, mM, mSums, mCounts, mArrived, mOut):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        ctas = mSums.shape[0]
        smem = cutlass.memory.SmemAllocator()
        sSums = smem.allocate_tensor(Float32, cute.make_layout(THREADS // 32), 16)
        sCounts = smem.allocate_tensor(Int32, cute.make_layout(THREADS // 32), 16)
        sTicket = smem.allocate_tensor(Int32, cute.make_layout(1), 16)

        elements, step = mX.shape[0], ctas * THREADS
        vectors = elements // self.vector
        total, count, first = Float32(0.0), Int32(0), block * THREADS + thread
        whole = cutlass.max(vectors - first + step - 1, 0) // (step * UNROLL)  # rounds without a condition
        for r in cutlass.range(whole):
            total, count = self.add(mX, mY, mM, first + r * UNROLL * step, step, UNROLL, total, count)
        for i in cutlass.range(first + whole * UNROLL * step, vectors, step):
            total, count = self.add(mX, mY, mM, i, step, 1, total, count)
        rest = vectors * self.vector + thread
        if (block == 0) & (rest < elements):  # fewer than a vector
            is_kept = True if const_expr(mM is None) else mM[rest]
            if is_kept:
                error = mX[rest].to(Float32) - mY[rest].to(Float32)
                total += error * error
                count += 1

        total, count = self.over_cta(total, count, sSums, sCounts)
        if thread == 0:
            mSums[block], mCounts[block] = total, count
            cute.arch.fence_acq_rel_gpu()  # whoever sees this CTA counted in sees its sums
            sTicket[0] = cute.arch.atomic_add(mArrived.iterator, Int32(1), sem="relaxed", scope="gpu")
        cute.arch.sync_threads()
        if sTicket[0] == ctas - 1:  # the same for all threads
            cute.arch.fence_acq_rel_gpu()  # the reads below come after that count
            total, count = Float32(0.0), Int32(0)
            for i in cutlass.range(thread, ctas, THREADS):
                total += mSums[i]
                count += mCounts[i]
            total, count = self.over_cta(total, count, sSums, sCounts)
            if thread == 0:
                mOut[0] = total / Float32(cutlass.max(count, 1))

    @cute.jit
    def add(self, mX, mY, mM, first, step, rounds: cutlass.Constexpr, total, count):
        """(total, count) with those of the vectors first, first + step, ... added; all are loaded at once."""
        shape = (self.vector, rounds)
        rX, rY = (cute.make_rmem_tensor(shape, mT.element_type) for mT in (mX, mY))
        rM = None if const_expr(mM is None) else cute.make_rmem_tensor(shape, cutlass.Uint8)
        for r in cutlass.range_constexpr(rounds):
            cute.autovec_copy(self.view(mX, first + r * step), rX[None, r])
            cute.autovec_copy(self.view(mY, first + r * step), rY[None, r])
            if const_expr(mM is not None):
                cute.autovec_copy(self.view(cute.recast_tensor(mM, cutlass.Uint8), first + r * step), rM[None, r])
        error = rX.load().to(Float32) - rY.load().to(Float32)
        squares = error * error
        if const_expr(mM is None):
            return total + squares.reduce(cute.ReductionOp.ADD, 0.0, 0), count + cute.size(rX)
        kept = cute.where(rM.load() != 0, squares, cute.full_like(squares, 0.0))
        for i in cutlass.range_constexpr(cute.size(rM)):
            count += rM[i].to(Int32)
        return total + kept.reduce(cute.ReductionOp.ADD, 0.0, 0), count

    def view(self, mT, i):
        return cute.make_tensor(mT.iterator + cute.assume(i * self.vector, divby=self.vector),
                                cute.make_layout(self.vector))  # fmt: skip

    @cute.jit
    def over_cta(self, total, count, sSums, sCounts):
        """The sums over the CTA, in thread 0, in a fixed order."""
        thread, _, _ = cute.arch.thread_idx()
        lane, warp = thread % 32, thread // 32
        for log in cutlass.range_constexpr(5):
            total += cute.arch.shuffle_sync_bfly(total, 16 >> log)
            count += cute.arch.shuffle_sync_bfly(count, 16 >> log)
        cute.arch.sync_threads()  # the sums before these have been read
        if lane == 0:
            sSums[warp], sCounts[warp] = total, count
        cute.arch.sync_threads()
        if thread == 0:
            for w in cutlass.range_constexpr(1, THREADS // 32):
                total += sSums[w]
                count += sCounts[w]
        return total, count


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, vector, is_masked):
    size, ctas = cute.sym_int(), cute.sym_int()

    def flat(kind, length, aligned=None):
        return make_fake_tensor(kind, (length,), stride=(1,), assumed_align=aligned or kind.width // 8)

    kind = DTYPES[dtype]
    data = [flat(kind, size, vector * kind.width // 8) for _ in range(2)]
    mask = flat(Boolean, size, vector) if is_masked else None
    scratch = [flat(Float32, ctas), flat(Int32, ctas), flat(Int32, 1), flat(Float32, 1)]
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    compiled = cute.compile(MaskedMse(vector), *data, mask, *scratch, stream, options="--enable-tvm-ffi")
    return compiled.__tvm_ffi_object__()


def kernel_fn(x, y, mask=None):
    """Mean of (x - y)^2 where mask, float32 (); 0 where it keeps nothing. x, y: float32, float16 or bfloat16 of one
    shape on one CUDA device, mask: bool of that shape, or None; all contiguous. ValueError for other input."""
    tensors = [x, y] if mask is None else [x, y, mask]
    alike = all(t.shape == x.shape and t.device == x.device and t.is_contiguous() for t in tensors)
    if not alike or not x.is_cuda or x.dtype not in DTYPES or y.dtype != x.dtype or x.numel() >= 1 << 31:
        got = [(t.dtype, tuple(t.shape), t.stride(), t.device) for t in tensors]
        raise ValueError("x and y must be contiguous float32, float16 or bfloat16 of one shape and dtype, on one "
                         f"CUDA device, below 2^31 elements, got {got}")
    if mask is not None and mask.dtype is not torch.bool:
        raise ValueError(f"mask must be of torch.bool, got {mask.dtype}: pass mask != 0")
    if torch.is_grad_enabled() and (x.requires_grad or y.requires_grad):
        raise ValueError("this kernel has no backward: detach x and y or call it under torch.no_grad()")
    if x.numel() == 0:
        return x.new_zeros((), dtype=torch.float32)
    bits = 16 | x.data_ptr() | y.data_ptr() | (0 if mask is None else mask.data_ptr() * x.itemsize)
    vector = max(1, (bits & -bits) // x.itemsize)
    ctas = min(CTAS, -(-x.numel() // (vector * THREADS)))
    sums, out = x.new_empty(ctas, dtype=torch.float32), x.new_empty(1, dtype=torch.float32)
    counts, arrived = x.new_empty(ctas, dtype=torch.int32), x.new_zeros(1, dtype=torch.int32)
    flat = [None if t is None else t.view(-1) for t in (x, y, mask)]
    _launcher(x.dtype, vector, mask is not None)(*flat, sums, counts, arrived, out)
    return out[0]


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
