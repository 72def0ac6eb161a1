"""Programmatic dependent launch between two kernels, on x - mean(x) of a whole tensor (launch-bound when small).

Idea      The mean needs every CTA, so it takes two kernels. Launched as usual, the second starts when the first has
          drained. With PDL it starts while the first still runs, and does what does not depend on it: it loads its own
          part of x into registers. cute.arch.griddepcontrol_wait then waits for the first kernel's end and its writes.
Layout    `sums`: up to THREADS CTAs stride over the tiles and leave one float32 partial each. `center`: a CTA per tile
          adds up the partials, one a thread, in a fixed order.
Requires  sm_90 or newer; float32, float16 or bfloat16; contiguous. Three parts, none of which may be missing:
          griddepcontrol_launch_dependents in the first kernel, griddepcontrol_wait in the second before it reads what
          the first wrote, use_pdl=True at the second launch. `sums` is launched without: it starts after all earlier
          work, so the next call cannot overwrite partials that are still read. No backward. Bad input: ValueError.
Verify    python scripts/verify_kernel.py examples/integration/pdl.py
Measured  on an H200: 1.06 to 1.53 times as fast as without PDL (results/h200-2026-11-22-66cfe61-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {
    **{f"n={n}": {"shape": (n,)} for n in (0, 1, 7, 8, 2048, 2049, 10_003)},
    "misaligned": {"shape": (5000,), "offset": 1},
    "several tiles a CTA": {"shape": (10_003,), "ctas": 2},
    "fp32": {"shape": (33, 127), "dtype": torch.float32},
    "fp16": {"shape": (33, 127), "dtype": torch.float16},
}
BENCH_CASES = {f"n=2^{log2}": {"shape": (1 << log2,)} for log2 in (14, 18, 20, 22, 24)}
TUNING_SPACE = {"use_pdl": [True, False], "ctas": [64, 128, 256]}  # scripts/tune_kernel.py measures what PDL is worth
ARCHS = ("sm_90a", "sm_100a", "sm_120a")
EXPECT = {  # PREEXIT: launch_dependents, ACQBULK: wait
    arch: {"LDG.128": ">0", "PREEXIT": 1, "ACQBULK": 1, "registers": "<=64", "spill_bytes": 0} for arch in ARCHS
}


def get_inputs(shape=(1 << 20,), dtype=torch.bfloat16, offset=0, ctas=None, device="cuda"):
    """[x] or [x, use_pdl, ctas]; x uniform between 0 and 1, `offset` elements into its memory."""
    size = torch.Size(shape).numel()
    x = torch.rand(offset + size, dtype=dtype, device=device)[offset:].view(shape)
    return [x] if ctas is None else [x, True, ctas]


def reference_fn(x, use_pdl=True, ctas=None):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide - wide.mean()).to(x.dtype)


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 256  # of a CTA, and partials at most
VALUES = 8  # of a thread
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class Center:
    """mY = mX - mean(mX) of flat tensors; mP (P): partial sums. vector: elements per access."""

    def __init__(self, vector, use_pdl):
        self.vector, self.use_pdl = vector, use_pdl

    @cute.jit
    def __call__(self, mX: cute.Tensor, mP: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        block = (THREADS, 1, 1)
        self.sums(mX, mP).launch(grid=(mP.shape[0], 1, 1), block=block, stream=stream)
        grid = (cute.ceil_div(mX.shape[0], THREADS * VALUES), 1, 1)
        self.center(mX, mP, mY).launch(grid=grid, block=block, stream=stream, use_pdl=self.use_pdl)

    @cute.kernel
    def sums(self, mX: cute.Tensor, mP: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        # A hint: once every CTA has said so, or ended, `center` may take the resources that are left. No writes are
        # published by it, so it may stand first.
        cute.arch.griddepcontrol_launch_dependents()
        total = Float32(0.0)
        tiles = cute.ceil_div(mX.shape[0], THREADS * VALUES)
        for i in cutlass.range((tiles - block + mP.shape[0] - 1) // mP.shape[0]):
            first = ((block + i * mP.shape[0]) * THREADS + thread) * VALUES
            total += self.load(mX, first).reduce(cute.ReductionOp.ADD, Float32(0.0), 0)
        total = self.sum_of_block(total, thread)
        if thread == 0:
            mP[block] = total

    @cute.kernel
    def center(self, mX: cute.Tensor, mP: cute.Tensor, mY: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        n = mX.shape[0]
        first = (block * THREADS + thread) * VALUES
        x = self.load(mX, first)  # written before `sums` was launched: may be read before the wait
        cute.arch.griddepcontrol_wait()  # from here on, what `sums` wrote is visible
        mean = self.sum_of_block(mP[thread] if thread < mP.shape[0] else Float32(0.0), thread) / Float32(n)
        rY = cute.make_rmem_tensor(VALUES, mY.element_type)  # (V)
        rY.store((x - mean).to(mY.element_type))
        gY = self.view(mY, first)
        if first + VALUES <= n:
            cute.autovec_copy(rY, gY)
        else:
            for i in cutlass.range_constexpr(VALUES):
                if first + i < n:
                    gY[i] = rY[i]

    def view(self, mT, first):
        return cute.make_tensor(mT.iterator + cute.assume(first, divby=self.vector), cute.make_layout(VALUES))  # (V)

    @cute.jit
    def load(self, mX, first):
        """The elements (V,) from `first` on as Float32, 0 past the end."""
        gX, rX = self.view(mX, first), cute.make_rmem_tensor(VALUES, mX.element_type)
        if first + VALUES <= mX.shape[0]:
            cute.autovec_copy(gX, rX)
        else:
            rX.fill(0)
            for i in cutlass.range_constexpr(VALUES):
                if first + i < mX.shape[0]:
                    rX[i] = gX[i]
        return rX.load().to(Float32)

    @cute.jit
    def sum_of_block(self, value, thread):
        """The sum of `value` over the CTA, in every thread."""
        smem = cutlass.memory.SmemAllocator()
        sW = smem.allocate_tensor(Float32, cute.make_layout(THREADS // 32), 16)  # (W) of the warps
        value = cute.arch.warp_reduction_sum(value)
        if thread % 32 == 0:
            sW[thread // 32] = value
        cute.arch.barrier()
        total = Float32(0.0)
        for w in cutlass.range_constexpr(THREADS // 32):
            total += sW[w]
        return total


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, vector, use_pdl):
    dtype, n, alignment = DTYPES[dtype], cute.sym_int(), vector * DTYPES[dtype].width // 8
    mX, mY = (make_fake_tensor(dtype, (n,), stride=(1,), assumed_align=alignment) for _ in range(2))
    mP = make_fake_tensor(Float32, (cute.sym_int(),), stride=(1,), assumed_align=4)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(Center(vector, use_pdl), mX, mP, mY, stream, options="--enable-tvm-ffi").__tvm_ffi_object__()


def kernel_fn(x, use_pdl=True, ctas=THREADS):
    """x - mean(x) as a new tensor; ValueError for what it cannot take.

    x: float32, float16 or bfloat16, contiguous, on a CUDA device of compute capability 9.0 or later, less than 2^30
    elements. use_pdl: False launches the second kernel as usual, to compare. ctas: of the first, at most THREADS.
    """
    if not 1 <= ctas <= THREADS:
        raise ValueError(f"ctas must be 1 to {THREADS}: a thread of the second kernel reads one partial; got {ctas}")
    n = x.numel()
    if x.dtype not in DTYPES or not x.is_cuda or not x.is_contiguous() or n >> 30:
        raise ValueError("x must be float32, float16 or bfloat16, contiguous, on a CUDA device, of less than 2^30 "
                         f"elements; got {x.dtype} of shape {tuple(x.shape)}, strides {x.stride()} on {x.device}")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("this kernel has no backward: detach x or call it under torch.no_grad()")
    out = torch.empty_like(x)
    if n:
        bits = 16 | x.data_ptr()
        partials = x.new_empty(min(-(-n // (THREADS * VALUES)), ctas), dtype=torch.float32)
        launch = _launcher(x.dtype, (bits & -bits) // x.itemsize, use_pdl)
        launch(x.view(-1), partials, out.view(-1))
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
