"""Conversion to float8 e4m3 with one scale for the tensor: q = e4m3(x / scale), saturating (memory-bound).

Idea      Two ways, by whether a scale is given. With one (a 0-d tensor: delayed scaling), a single pass. Without, an
          amax kernel finds max |x| first, scale = max(|x|_max, 1e-12) / 448, and the convert kernel reads x again, from
          the L2 while it fits. The scale never visits the host. |x| is compared as the integer of its bits, which
          orders finite numbers, infinity and NaN as torch.amax does, and lets CTAs meet in one atomic maximum.
Layout    A thread takes 16 consecutive elements: one 128-bit vector of the result. Amax: a fixed grid strides over the
          tiles of THREADS * 16; a CTA reduces by shuffles and shared memory, then sends one atomic.
Requires  sm_89 or newer (the conversion instruction); float32, float16 or bfloat16; any shape; dense memory. q = x *
          (1 / scale) in float32, rounded to nearest even once; beyond 448 it saturates, NaN stays NaN.
Verify    python scripts/verify_kernel.py examples/fp8_convert.py
Measured  H200: 11.9 us for 2^24 elements with a given scale, 20.9 us with amax
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float8E4M3FN, Float32, Int32, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor, make_ptr

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {
    **{f"n={n}": {"shape": (n,)} for n in (1, 15, 16, 4096, 70_003)},
    **{f"given scale n={n}": {"shape": (n,), "scale": 0.01} for n in (0, 1, 16, 4099)},
    "several tiles a CTA": {"shape": (20_003,), "ctas": 2},
    "misaligned": {"shape": (33, 35), "view": "misaligned"},
    "transposed": {"shape": (33, 48), "view": "transposed"},
    "zeros": {"shape": (100,), "factor": 0.0},
    "fp16": {"shape": (33, 48), "dtype": torch.float16},
    "fp32": {"shape": (33, 48), "dtype": torch.float32},
    "given scale fp32": {"shape": (33, 35), "dtype": torch.float32, "scale": 0.01},
}
BENCH_CASES = {
    f"{name} n=2^{log2}": {"shape": (1 << log2,), "scale": scale}
    for name, scale in (("amax", None), ("given scale", 0.01))
    for log2 in (16, 20, 24, 28)
}
TUNING_SPACE = {"ctas": [264, 528, 1024, 2048]}
ARCHS = ("sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">0", "registers": "<=64", "spill_bytes": 0} for arch in ARCHS}
VIEWS = {
    "flat": lambda x: x,
    "misaligned": lambda x: torch.cat((x.new_zeros(1), x.flatten()))[1:].view(x.shape),
    "transposed": lambda x: x.mT.contiguous().mT,
}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, scale=None, view="flat", factor=3.0, ctas=None, device="cuda"):
    """[x], [x, scale] or [x, None, ctas]; with the scale 0.01 some elements saturate."""
    x = VIEWS[view](factor * torch.randn(shape, dtype=dtype, device=device))
    if ctas is not None:
        return [x, None, ctas]
    return [x] if scale is None else [x, torch.tensor(scale, device=device)]


LARGEST, SMALLEST_AMAX = 448.0, 1e-12


def reference_fn(x, scale=None, ctas=None):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    used = wide.abs().amax().clamp(min=SMALLEST_AMAX) / LARGEST if scale is None else scale
    q = (wide * (1 / used)).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)  # torch alone turns an overflow into NaN
    return (q, used) if scale is None else q


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 256
VALUES = 16  # of a thread: 128 bits of e4m3
CTAS = 1024  # of the amax kernel, at most: they fill a GPU
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


def bits_of(x):
    """The bits of |x|, Float32: they order as |x| does, with infinity and then NaN on top."""
    return x.bitcast(Int32) & Int32(0x7FFFFFFF)


class Convert:
    """mQ[i] = e4m3(mX[i] / scale), the scale mScale[0], or of the amax, for which pAmax[0] is 0 at first.

    vector: elements per access of x.
    """

    def __init__(self, vector, has_scale):
        self.vector, self.has_scale = vector, has_scale

    @cute.jit
    def __call__(self, mQ: cute.Tensor, stream: cuda.CUstream, pX, mScale: cute.Tensor, pAmax, most: Int32):
        n = cute.size(mQ)
        if const_expr(not self.has_scale):
            ctas = cutlass.min(cute.ceil_div(n, THREADS * VALUES), most)
            self.amax(mQ, pX, pAmax).launch(grid=(ctas, 1, 1), block=(THREADS, 1, 1), stream=stream)
        grid = (cute.ceil_div(n, THREADS * VALUES), 1, 1)
        self.convert(mQ, pX, mScale, pAmax).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)

    @cute.jit
    def load(self, pX, first, n):
        """The elements (VALUES,) of x from `first` on as Float32, 0 from n on."""
        gX = cute.make_tensor(pX + cute.assume(first, divby=self.vector), cute.make_layout(VALUES))
        rX = cute.make_rmem_tensor(VALUES, pX.dtype)
        if first + VALUES <= n:
            cute.autovec_copy(gX, rX)
        else:
            rX.fill(0)
            for i in cutlass.range_constexpr(VALUES):
                if first + i < n:
                    rX[i] = gX[i]
        return rX.load().to(Float32)

    @cute.kernel
    def amax(self, mQ: cute.Tensor, pX, pAmax):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        blocks, _, _ = cute.arch.grid_dim()
        n = cute.size(mQ)  # mQ.shape[0] would truncate a 64-bit size to Int32
        tiles = cute.ceil_div(n, THREADS * VALUES)
        largest = Int32(0)
        for i in cutlass.range((tiles - block + blocks - 1) // blocks):
            tile = type(n)(block + i * blocks)
            x = self.load(pX, (tile * THREADS + thread) * VALUES, n)
            for e in cutlass.range_constexpr(VALUES):
                largest = cutlass.max(largest, bits_of(x[e]))

        smem = cutlass.memory.SmemAllocator()
        sW = smem.allocate_tensor(Int32, cute.make_layout(THREADS // 32), 16)  # (W) of the warps
        largest = cute.arch.warp_reduction(largest, cutlass.max)
        if thread % 32 == 0:
            sW[thread // 32] = largest
        cute.arch.barrier()
        if thread == 0:
            for w in cutlass.range_constexpr(1, THREADS // 32):
                largest = cutlass.max(largest, sW[w])
            cute.arch.atomic_max(pAmax, largest)

    @cute.kernel
    def convert(self, mQ: cute.Tensor, pX, mScale: cute.Tensor, pAmax):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        n = cute.size(mQ)
        first = (type(n)(block) * THREADS + thread) * VALUES
        x = self.load(pX, first, n)
        if const_expr(self.has_scale):
            scale = mScale[0]
        else:
            amax = cutlass.max(cute.make_tensor(pAmax, cute.make_layout(1))[0], bits_of(Float32(SMALLEST_AMAX)))
            scale = amax.bitcast(Float32) / LARGEST
            if first == 0:
                mScale[0] = scale
        rQ = cute.make_rmem_tensor(VALUES, Float8E4M3FN)
        rQ.store((x * (1.0 / scale)).to(Float8E4M3FN))  # cvt.rn.satfinite
        gQ = cute.make_tensor(mQ.iterator + cute.assume(first, divby=VALUES), cute.make_layout(VALUES))
        if first + VALUES <= n:
            cute.autovec_copy(rQ, gQ)
        else:
            for i in cutlass.range_constexpr(VALUES):
                if first + i < n:
                    gQ[i] = rQ[i]


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, alignment, has_scale, is_wide):
    """launch(flat q, address of x, scale (1), address of the amax or None, CTAs of the amax kernel)."""
    dtype, n = DTYPES[dtype], cute.sym_int(64 if is_wide else 32)
    compiled = cute.compile(
        Convert(alignment * 8 // dtype.width, has_scale),
        make_fake_tensor(Float8E4M3FN, (n,), stride=(1,), assumed_align=16),  # PyTorch allocates at 16 bytes or more
        make_fake_stream(use_tvm_ffi_env_stream=True),
        make_ptr(dtype, 16, cute.AddressSpace.gmem, assumed_align=alignment),
        make_fake_tensor(Float32, (1,), stride=(1,), assumed_align=4),
        None if has_scale else make_ptr(Int32, 16, cute.AddressSpace.gmem, assumed_align=4),
        Int32(1),
        options="--enable-tvm-ffi",
    )
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


def kernel_fn(x, scale=None, ctas=CTAS):
    """x / scale as float8_e4m3fn where a scale is given, else (that, scale = amax / 448); ValueError for other input.

    x: float32, float16 or bfloat16, dense, on a CUDA device. scale: a float32 tensor of one element beside it.
    ctas: of the amax kernel, at most.
    """
    if x.dtype not in DTYPES or not x.is_cuda:
        raise ValueError(f"x must be float32, float16 or bfloat16 on a CUDA device; got {x.dtype} on {x.device}")
    if scale is not None and (scale.dtype != torch.float32 or scale.numel() != 1 or scale.device != x.device):
        raise ValueError("scale must be a float32 tensor of one element on the device of x; "
                         f"got {scale.dtype} of shape {tuple(scale.shape)} on {scale.device}")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("this kernel has no backward: detach x or call it under torch.no_grad()")
    q = torch.empty_like(x, dtype=torch.float8_e4m3fn)
    if x.stride() != q.stride():
        raise ValueError(f"x must be dense; got shape {tuple(x.shape)} with strides {x.stride()}: pass x.contiguous()")
    n, used, amax = q.numel(), scale, None
    if scale is None:
        if n == 0:
            raise ValueError("an empty tensor has no amax: give a scale")
        used = torch.empty((), dtype=torch.float32, device=x.device)
        amax = torch.zeros((), dtype=torch.int32, device=x.device)
    if n:
        bits = 16 | x.data_ptr()
        launch = _launcher(x.dtype, bits & -bits, scale is not None, n >= 1 << 30)
        launch(q.as_strided((n,), (1,)), x.data_ptr(), used.view(1), amax if amax is None else amax.data_ptr(), ctas)
    return (q, used) if scale is None else q


if __name__ == "__main__":
    inputs = get_inputs()
    for found, expected in zip(kernel_fn(*inputs), reference_fn(*inputs)):
        torch.testing.assert_close(found.float(), expected.float())
    print("PASS")
