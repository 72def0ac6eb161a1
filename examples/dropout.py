"""Dropout whose mask is a function of (seed, offset, position): no mask is stored, the backward makes it again.

Idea      Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) turns a counter and a key
          into four 32-bit words. Element i takes word i % 4 of counter (i // 4, offset) under key seed, so the mask
          depends on no launch configuration, dtype or alignment, and reference_fn computes the very same bits.
Layout    A CTA owns THREADS * VALUES consecutive elements, VALUES = 8 consecutive ones a thread: two Philox calls.
Requires  sm_80 or newer; float32, float16 or bfloat16; any shape; dense memory; 0 <= p < 1. Elements are counted in
          the order of memory. Kept elements are multiplied by 1 / (1 - p) in float32 and rounded once. The gradient of
          x is kernel_fn(gradient, p, seed, offset). Give each call its own offset. Bad input: ValueError.
Verify    python scripts/verify_kernel.py examples/dropout.py
Measured  H200: 21.0 us for 2^24 bfloat16; its reference, the same generator in PyTorch, is no peer
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int64, Uint32, Uint64
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor, make_ptr

# --- Specification ---------------------------------------------------------------------------------------------------

TEST_CASES = {
    **{f"n={n}": {"shape": (n,)} for n in (0, 1, 7, 8, 4096, 100_003)},
    "p=0": {"shape": (33, 35), "p": 0.0},
    "p=0.9": {"shape": (33, 35), "p": 0.9},
    "seed and offset of 64 bits": {"shape": (33, 35), "seed": 2**63 + 2**40 + 7, "offset": 2**64 - 1},
    "misaligned": {"shape": (255, 103), "view": "misaligned"},
    "transposed": {"shape": (255, 104), "view": "transposed"},
    "fp16": {"shape": (3, 5, 7, 72), "dtype": torch.float16},
    "fp32": {"shape": (100, 103), "dtype": torch.float32},
}
BENCH_CASES = {f"n=2^{log2}": {"shape": (1 << log2,)} for log2 in (16, 20, 24, 28)}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">0", "STG.128": ">0", "registers": "<=64", "spill_bytes": 0} for arch in ARCHS}
VIEWS = {
    "flat": lambda x: x,
    "misaligned": lambda x: torch.cat((x.new_zeros(1), x.flatten()))[1:].view(x.shape),
    "transposed": lambda x: x.mT.contiguous().mT,
}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, p=0.1, seed=1234, offset=0, view="flat", device="cuda"):
    return [VIEWS[view](torch.randn(shape, dtype=dtype, device=device)), p, seed, offset]


MULTIPLIERS, WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)  # of Philox 4x32: of a round, of the key
ROUNDS = 10


def threshold(p):
    """An element is kept where its word is at least this: with probability 1 - p to 2^-32."""
    return min(round(p * 2**32), 2**32 - 1)


def philox(counter, seed, offset):
    """Four words, in int64, for each int64 counter: Philox 4x32-10 in PyTorch."""
    low = 0xFFFFFFFF
    a, b = counter & low, counter >> 32 & low
    c, d = (torch.full_like(counter, word) for word in (offset & low, offset >> 32 & low))
    key = [seed & low, seed >> 32 & low]
    for _ in range(ROUNDS):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]  # products modulo 2^64, as signed numbers
        a, b, c, d = (second >> 32 & low) ^ b ^ key[0], second & low, (first >> 32 & low) ^ d ^ key[1], first & low
        key = [(k + w) & low for k, w in zip(key, WEYL)]
    return torch.stack((a, b, c, d), -1)


def reference_fn(x, p=0.1, seed=0, offset=0):
    words = philox(torch.arange(-(-x.numel() // 4), device=x.device), seed, offset).flatten()[: x.numel()]
    words = torch.empty_like(x, dtype=torch.int64).copy_(words.as_strided(x.shape, torch.empty_like(x).stride()))
    scale = torch.tensor(1 / (1 - p), dtype=torch.float32).item()
    return torch.where(words >= threshold(p), x * scale, torch.zeros_like(x))


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 128
VALUES = 8  # of a thread, a multiple of the 4 words of a Philox call
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


def random_words(counter, seed, offset):
    """Four Uint32 of the Uint64 counter, seed (the key) and offset: Philox 4x32-10."""
    a, b = counter.to(Uint32), (counter >> 32).to(Uint32)
    c, d = offset.to(Uint32), (offset >> 32).to(Uint32)
    key = [seed.to(Uint32), (seed >> 32).to(Uint32)]
    for _ in range(ROUNDS):
        first, second = (Uint64(x) * Uint64(m) for x, m in zip((a, c), MULTIPLIERS))  # one wide multiplication each
        high_first, high_second = (first >> 32).to(Uint32), (second >> 32).to(Uint32)
        a, b, c, d = high_second ^ b ^ key[0], second.to(Uint32), high_first ^ d ^ key[1], first.to(Uint32)
        key = [k + Uint32(w) for k, w in zip(key, WEYL)]
    return a, b, c, d


class Dropout:
    """mC[i] = mX[i] * scale where the word of element i is at least `least`, else 0. vector: elements per access."""

    def __init__(self, vector):
        self.vector = vector

    @cute.jit
    def __call__(self, mC: cute.Tensor, stream: cuda.CUstream, mX, least: Uint32, scale: Float32, seed: Uint64,
                 offset: Uint64):  # fmt: skip
        grid = (cute.ceil_div(cute.size(mC), THREADS * VALUES), 1, 1)
        self.kernel(mC, mX, least, scale, seed, offset).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mC: cute.Tensor, mX, least: Uint32, scale: Float32, seed: Uint64, offset: Uint64):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        n = cute.size(mC)  # mC.shape[0] would truncate a 64-bit size to Int32
        group = Int64(block) * THREADS + thread  # of VALUES elements
        first = cute.assume(type(n)(group * VALUES), divby=self.vector)
        values = cute.make_layout(VALUES)
        tXgX, tCgC = (cute.make_tensor(pointer + first, values) for pointer in (mX, mC.iterator))  # (V)
        is_full = first + VALUES <= n

        tXrX = cute.make_rmem_tensor(values, mC.element_type)  # (V)
        if is_full:
            cute.autovec_copy(tXgX, tXrX)
        else:
            tXrX.fill(0)
            for i in cutlass.range_constexpr(VALUES):
                if first + i < n:
                    tXrX[i] = tXgX[i]

        for quarter in cutlass.range_constexpr(VALUES // 4):
            words = random_words(Uint64(group * (VALUES // 4) + quarter), seed, offset)
            for i in cutlass.range_constexpr(4):
                kept = tXrX[4 * quarter + i].to(Float32) * scale if words[i] >= least else Float32(0.0)
                tXrX[4 * quarter + i] = kept.to(mC.element_type)

        if is_full:
            cute.autovec_copy(tXrX, tCgC)
        else:
            for i in cutlass.range_constexpr(VALUES):
                if first + i < n:
                    tCgC[i] = tXrX[i]


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, alignment, is_wide):
    """launch(flat output, address of x, threshold, scale, seed, offset); seed and offset as signed 64-bit numbers."""
    dtype, n = DTYPES[dtype], cute.sym_int(64 if is_wide else 32)
    compiled = cute.compile(
        Dropout(alignment * 8 // dtype.width),
        make_fake_tensor(dtype, (n,), stride=(1,), assumed_align=alignment),
        make_fake_stream(use_tvm_ffi_env_stream=True),
        make_ptr(dtype, 16, cute.AddressSpace.gmem, assumed_align=alignment),
        Uint32(0), Float32(0), Uint64(0), Uint64(0),
        options="--enable-tvm-ffi",
    )  # fmt: skip
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


def kernel_fn(x, p=0.1, seed=0, offset=0):
    """x / (1 - p) where kept, else 0, as a new tensor like x; ValueError for what it cannot take.

    x: float32, float16 or bfloat16, dense, on a CUDA device. p: the probability of 0, 0 <= p < 1.
    seed, offset: 0 to 2^64 - 1; equal ones give equal masks.
    """
    if x.dtype not in DTYPES or not x.is_cuda:
        raise ValueError(f"x must be float32, float16 or bfloat16 on a CUDA device; got {x.dtype} on {x.device}")
    if not 0 <= p < 1 or seed >> 64 or offset >> 64:
        raise ValueError(f"expected 0 <= p < 1 and a seed and an offset of 64 bits; got {p}, {seed} and {offset}")
    out = torch.empty_like(x)
    if x.stride() != out.stride():
        raise ValueError(f"x must be dense; got shape {tuple(x.shape)} with strides {x.stride()}: pass x.contiguous()")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("kernel_fn records no gradient: the gradient of x is kernel_fn(gradient, p, seed, offset)")
    if n := out.numel():
        bits = 16 | x.data_ptr()
        launch = _launcher(x.dtype, bits & -bits, n >= 1 << 30)
        seed, offset = (word - (word >> 63 << 64) for word in (seed, offset))
        launch(out.as_strided((n,), (1,)), x.data_ptr(), threshold(p), 1 / (1 - p), seed, offset)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=0, atol=0)
    print("PASS")
