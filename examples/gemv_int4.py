"""int4 weights times one to eight rows of bfloat16, out = x @ ((w - 8) * scale)^T (decode: bound by the bytes of w).

Idea      Eight tokens are the narrow side of mma.sync m16n8k16 with w as its A operand: D^T = W @ X^T. The order along
          K is free as long as both operands agree, so a lane takes 32 neighbouring weights of a row (16 bytes; four
          lanes make a group of 128) as they lie in memory, without a shuffle or a repacked w. A word's
          `q >> 4 i & 0x000F000F | 0x43004300` is the bfloat16 128 + w of its weights i and i + 4; 136 less is exact,
          and one prmt pairs x likewise. The products of a group begin at zero, `total += part * scale` is in float32.
Layout    A CTA owns 16 * tiles rows of w; its eight warps take groups in turns and add up in shared memory, in a fixed
          order.
Requires  sm_80 or newer (on sm_80 itself it spills); bfloat16; M 1 to 8, K a multiple of 128
          (compiled in), any N; zero point 8. No backward.
Verify    python scripts/verify_kernel.py examples/gemv_int4.py
Measured  H200, weights from memory: 0.29 to 0.58 of the speed at which it is read; 8.3 to 14.2 times as fast as the
          reference compiled, which widens the weights first (results/h200-2026-11-29-d8f3772-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import BFloat16, Float32, Int32
from cutlass.cute.nvgpu import warp as warp_ops
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

GROUP = 128


def reference_fn(x, w, scales, tiles=None):
    wide = torch.promote_types(x.dtype, torch.float32)
    if not 1 <= len(x) <= 8:
        raise ValueError("one to eight rows")
    q = torch.stack((w & 15, w >> 4), -1).flatten(1).to(wide) - 8
    return (x.to(wide) @ (q * scales.to(wide).repeat_interleave(GROUP, 1)).mT).to(x.dtype)


TEST_CASES = {
    "one token": {"m": 1, "n": 24, "k": 128},
    "eight": {"m": 8, "n": 136, "k": 512},
    "odd n": {"m": 3, "n": 33, "k": 1152},
    "two groups": {"m": 5, "n": 16, "k": 1280},
    "long": {"m": 2, "n": 20, "k": 5120},
    "two tiles": {"m": 7, "n": 70, "k": 1024, "tiles": 2},
    "two tiles, odd": {"m": 1, "n": 31, "k": 384, "tiles": 2},
}
SHAPES = ((28672, 4096), (4096, 14336), (6144, 4096))
BENCH_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m in (1, 8) for n, k in SHAPES}
ARCHS = ("sm_90a",)
EXPECT = {"sm_90a": {"HMMA": ">0", "LDG.128": ">=8", "spill_bytes": 0, "load_bytes_in_flight": ">=128"}}
TUNING_SPACE = {"tiles": [1, 2]}


def get_inputs(m=2, n=48, k=1024, tiles=None, device="cuda"):
    """[x (m, k), w (n, k / 2), scales (n, k / 128)], and tiles if given."""
    w = torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device=device)
    scales = ((torch.rand(n, k // GROUP, device=device) + 0.5) * (20 * k) ** -0.5).bfloat16()
    inputs = [torch.randn(m, k, dtype=torch.bfloat16, device=device), w, scales]
    return inputs if tiles is None else [*inputs, tiles]


def flops(x, w, scales, tiles=None):
    return 2 * x.numel() * len(w)


# --- Configuration ---------------------------------------------------------------------------------------------------

WARPS = 8

# --- Device ----------------------------------------------------------------------------------------------------------


class Int4Gemv:
    """tiles: of 16 rows, of a warp; turn: groups of 128 that a warp loads at once."""

    def __init__(self, k, tiles):
        self.groups, self.tiles = k // GROUP, tiles
        self.turn = next(t for t in (4 // tiles, 2, 1) if self.groups % t == 0)

    @cute.jit
    def __call__(self, mX: cute.Tensor, mW: cute.Tensor, mS: cute.Tensor, mO: cute.Tensor, stream: cuda.CUstream):
        mma = cute.make_tiled_mma(warp_ops.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
        self.kernel(mX, mW, mS, mO, mma).launch(
            grid=(cute.ceil_div(mO.shape[1], 16 * self.tiles), 1, 1), block=(32 * WARPS, 1, 1), min_blocks_per_mp=2,
            preferred_smem_carveout=10, stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mW: cute.Tensor, mS: cute.Tensor, mO: cute.Tensor, mma: cute.TiledMma):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        warp, lane = cute.arch.make_warp_uniform(cute.arch.warp_idx()), cute.arch.lane_idx()
        row, column = lane >> 2, lane & 3  # of the fragments; row is the token of B, too
        rows = 16 * self.tiles
        sP = cutlass.memory.SmemAllocator().allocate_tensor(
            Float32, cute.make_layout((rows, 8, WARPS), stride=(1, rows + 4, 8 * (rows + 4))), 16)  # + 4: no conflicts

        rA = mma.make_fragment_A(mma.partition_shape_A((16, 16)))
        rB = mma.make_fragment_B(mma.partition_shape_B((8, 16)))
        wA = cute.make_tensor(cute.recast_ptr(rA.iterator, dtype=Int32), cute.make_layout((2, 2)))  # (row, pair)
        wB = cute.make_tensor(cute.recast_ptr(rB.iterator, dtype=Int32), cute.make_layout(2))
        part = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), Float32)
        total = cute.make_rmem_tensor((4, self.tiles), Float32)
        total.fill(0.0)

        gX = mX[cutlass.min(row, mX.shape[0] - 1), None]  # tokens beyond the last are computed and not stored
        mine = [cutlass.min(block * rows + row + 8 * i, mO.shape[1] - 1) for i in range(2 * self.tiles)]
        gW, gS = [mW[n, None] for n in mine], [mS[n, None] for n in mine]
        for turn in cutlass.range(warp, self.groups // self.turn, WARPS, unroll=1):
            first = turn * self.turn
            rW = cute.make_rmem_tensor((4, 2 * self.tiles, self.turn), Int32)
            rS = cute.make_rmem_tensor((2 * self.tiles, self.turn), BFloat16)
            for g in cutlass.range_constexpr(self.turn):
                for i in cutlass.range_constexpr(2 * self.tiles):
                    cute.autovec_copy(cute.local_tile(gW[i], (4,), ((first + g) * 4 + column,)), rW[None, i, g])
            for g in cutlass.range_constexpr(self.turn):
                for i in cutlass.range_constexpr(2 * self.tiles):
                    rS[i, g] = gS[i][first + g]
            for g in cutlass.range_constexpr(self.turn):
                rX = cute.make_rmem_tensor((4, 4), Int32)
                cute.autovec_copy(cute.local_tile(gX, (16,), ((first + g) * 4 + column,)), cute.coalesce(rX))
                self.multiply(mma, rA, rB, wA, wB, part, total, rW[None, None, g], rS[None, g], rX)

        for t in cutlass.range_constexpr(self.tiles):
            for v in cutlass.range_constexpr(4):
                sP[16 * t + row + v // 2 * 8, 2 * column + v % 2, warp] = total[v, t]
        cute.arch.sync_threads()
        if thread < rows * 8:
            n, token = thread % rows, thread // rows
            if block * rows + n < mO.shape[1] and token < mO.shape[0]:
                value = sP[n, token, 0]
                for w in cutlass.range_constexpr(1, WARPS):
                    value += sP[n, token, w]
                mO[token, block * rows + n] = value.to(BFloat16)

    @cute.jit
    def multiply(self, mma, rA, rB, wA, wB, part, total, rW, rS, rX):
        """total (4, tiles) += the products of one group: rW (4, rows) words of w, rS (rows), rX (4, 4) words of x."""
        rP = cute.make_rmem_tensor((4, 4), Int32)  # pairs (x_i, x_i+4) of eight
        for q in cutlass.range_constexpr(4):
            for i in cutlass.range_constexpr(4):
                rP[i, q] = Int32(cute.arch.prmt(rX[i // 2, q], rX[i // 2 + 2, q], Int32(0x7632 if i % 2 else 0x5410)))
        for t in cutlass.range_constexpr(self.tiles):
            part.fill(0.0)
            for q in cutlass.range_constexpr(4):
                for half in cutlass.range_constexpr(2):
                    for pair in cutlass.range_constexpr(2):
                        wB[pair] = rP[2 * half + pair, q]
                        for r in cutlass.range_constexpr(2):
                            wA[r, pair] = (rW[q, 2 * t + r] >> 4 * (2 * half + pair)) & 0x000F000F | 0x43004300
                    rA.store(rA.load() - BFloat16(136))
                    cute.gemm(mma, part, rA[None, None, 0], rB[None, None, 0], part)
            for v in cutlass.range_constexpr(4):
                total[v, t] += part[v] * rS[2 * t + v // 2].to(Float32)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(k, tiles):
    m, n = cute.sym_int(), cute.sym_int()
    step = functools.partial(cute.sym_int64, divisibility=4)
    x = make_fake_tensor(Int32, (m, k // 2), stride=(step(), 1), assumed_align=16)
    w = make_fake_tensor(Int32, (n, k // 8), stride=(step(), 1), assumed_align=16)
    s = make_fake_tensor(BFloat16, (n, k // GROUP), stride=(cute.sym_int64(), 1), assumed_align=2)
    out = make_fake_tensor(BFloat16, (m, n), stride=(cute.sym_int64(), 1), assumed_align=2)
    return cute.compile(Int4Gemv(k, tiles), x, w, s, out, make_fake_stream(use_tvm_ffi_env_stream=True),
                        options="--enable-tvm-ffi").__tvm_ffi_object__()


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


def kernel_fn(x, w, scales, tiles=None):
    """x @ ((w - 8) * scales).mT, (M, N) bfloat16, M 1 to 8: x (M, K) and scales (N, K / 128) bfloat16, w (N, K / 2)
    uint8 with two weights a byte, the first in the low half. tiles: 1 or 2. ValueError for what it cannot take."""
    dtypes = x.dtype, w.dtype, scales.dtype
    _require(x.ndim == w.ndim == scales.ndim == 2 and dtypes == (torch.bfloat16, torch.uint8, torch.bfloat16),
             "x and scales must be bfloat16 matrices, w a uint8 one")
    (m, k), n = x.shape, w.shape[0]
    _require(1 <= m <= 8 and k >= GROUP and k % GROUP == 0, f"M must be 1 to 8 and K a multiple of 128, got {m}, {k}")
    _require(w.shape[1] == k // 2 and scales.shape == (n, k // GROUP), "w must be (N, K / 2), scales (N, K / 128)")
    _require(x.is_cuda and x.device == w.device == scales.device, "all must be on one CUDA device")
    _require(tiles in (None, 1, 2), "tiles must be 1 or 2")
    for t in (x, w, scales):
        _require(t.stride(1) == 1 or t.shape[1] == 1, "all must be contiguous along K")
        _require(not t.requires_grad or not torch.is_grad_enabled(), "no backward: call under torch.no_grad()")
    for t in (x, w):
        _require(t.data_ptr() % 16 == 0 and (t.stride(0) * t.itemsize % 16 == 0 or len(t) == 1),
                 "rows of x and w must begin at multiples of 16 bytes")
    out = torch.empty(m, n, dtype=x.dtype, device=x.device)
    if n:
        if tiles is None:
            sms = torch.cuda.get_device_properties(x.device).multi_processor_count
            tiles = 2 if n >= 64 * sms else 1
        _launcher(k, tiles)(x.view(torch.int32), w.view(torch.int32), scales, out)
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
