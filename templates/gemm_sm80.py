"""Matrix product for every GPU from Ampere on, D = epilogue(A @ B^T) (bound by the tensor cores, small M by bytes).

Idea      The instructions that all of them have: cp.async fills a ring of stages, ldmatrix feeds mma.sync, whose sums
          stay in registers up to the epilogue. The next stages are loaded, and the next fragments read, while one is
          multiplied; the main loop has no branch, so that the compiler mixes all three.
Layout    A CTA of 2 to 8 warps owns a tile of D, a warp a part of it in the pattern of tiled_mma. K tiles of A and B
          are (rows, 32 or 64) in shared memory, swizzled; D leaves through it, in vectors of 16 bytes.
Requires  sm_80 or newer; bfloat16 or float16; A (M, K) and B (N, K). Rows must be contiguous and start at multiples of
          16 bytes: other matrices are copied first, and a warning says so. No backward. Bad input: ValueError. On
          Hopper templates/gemm_sm90.py is the one to take.
Verify    python scripts/verify_kernel.py templates/gemm_sm80.py
"""

import functools
import math
import warnings
from typing import NamedTuple

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, const_expr
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------


def reference_fn(a, b, c=None, alpha=1.0, beta=1.0):  # EDIT
    product = alpha * (a @ b.mT)
    return product if c is None else product + beta * c


def get_inputs(m=1024, n=1024, k=1024, dtype=torch.bfloat16, c=None, alpha=1.0, beta=1.0, device="cuda"):  # EDIT
    """A (m, k), B (n, k); with c, a shape, also C, alpha and beta."""
    a, b = torch.randn(m, k, dtype=dtype, device=device), torch.randn(n, k, dtype=dtype, device=device)
    return [a, b] if c is None else [a, b, torch.randn(c, dtype=dtype, device=device), alpha, beta]


TEST_CASES = {
    "tails": {"m": 257, "n": 264, "k": 1096, "c": (257, 264), "alpha": 0.5, "beta": -2.0},
    "one_row": {"m": 1, "n": 520, "k": 4096, "c": (520,)},
    "odd": {"m": 33, "n": 77, "k": 129, "c": (33, 1)},
    "half": {"m": 200, "n": 136, "k": 72, "dtype": torch.float16},
}
BENCH_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in (
    (1024, 1024, 1024), (4096, 4096, 4096), (8192, 8192, 8192), (512, 4096, 14336))}
ARCHS = ("sm_80", "sm_90a", "sm_120a")
EXPECT = {arch: {"HMMA": ">0", "LDGSTS": ">0", "LDSM": ">0", "spill_bytes": 0} for arch in ARCHS}


def flops(a, b, *_):
    return 2 * a.numel() * b.shape[0]


# --- Configuration ---------------------------------------------------------------------------------------------------

DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16, torch.float32: cutlass.Float32}
BAND = 8  # tiles along M of a band: the CTAs that run together form a rectangle, which shares rows and columns in L2


class Config(NamedTuple):
    """tile: (M, N, K) of a CTA; stages: of K tiles; warps: along (M, N); ctas: per SM at most, sharing registers."""

    tile: tuple[int, int, int]
    stages: int
    warps: tuple[int, int] = (2, 2)
    ctas: int = 1

    @property
    def ring_bytes(self):
        return 2 * self.stages * (self.tile[0] + self.tile[1]) * self.tile[2]


CONFIGS = (
    Config((128, 128, 64), 3, ctas=2), Config((128, 128, 32), 4, ctas=2), Config((128, 64, 64), 3, ctas=3),
    Config((64, 128, 64), 3, ctas=3), Config((64, 64, 64), 4, ctas=3), Config((128, 256, 64), 3, (2, 4)),
)
TUNING_SPACE = {"config": CONFIGS}


def estimate_us(config, m, n, k, sms):
    """The rule that picks a configuration: the tiles of the busiest SM, at the rate of the tensor cores or of shared
    memory, and what begins and ends them. The constants were fitted on an H200."""
    (bM, bN, _), _, (wM, wN), ctas = config
    tiles = -(-(-(-m // bM) * -(-n // bN)) // sms)
    per_k = max(bM * bN / 2.6e6, (bM * (wN + 1) + bN * (wM + 1)) / 1.05e5)
    resident = min(tiles, ctas)
    lonely = 1.32 if resident * wM * wN < 8 else 1.0  # one warp on a quarter of the SM waits for itself
    return 1.8 + tiles * (k * per_k * lonely + bM * bN / 8700 / resident)


# --- Device ----------------------------------------------------------------------------------------------------------


def epilogue(acc, extra, alpha, beta):  # EDIT
    """An element of D from that of A @ B^T and those of the extra tensors, all float32; traced for every element."""
    value = alpha * acc
    if const_expr(len(extra) > 0):
        value += beta * extra[0]
    return value


class Gemm:
    """mD[M, N] = epilogue(mA[M, K] @ mB[N, K]^T, extras[M, N]); mD may be wider than N."""

    def __init__(self, config):
        (bM, bN, bK), stages, warps, _ = config
        _require({bM, bN} <= {64, 128, 256} and bK in (32, 64) and set(warps) <= {1, 2, 4}
                 and math.prod(warps) in (2, 4, 8) and stages > 1 and config.ring_bytes >= 2 * bM * bN,
                 f"M and N of a tile are 64, 128 or 256, K 32 or 64; 2, 4 or 8 warps, 1, 2 or 4 each way; 2 or more "
                 f"stages, which must hold a tile of D; got {config}")
        self.config, self.threads = config, 32 * math.prod(warps)

    @cute.jit
    def __call__(self, alpha: Float32, beta: Float32, stream: cuda.CUstream, mA, mB, mD, *extras):
        (bM, bN, _), _, (wM, wN), ctas = self.config
        self.dtype = mA.element_type
        tiled_mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(self.dtype, Float32, (16, 8, 16)), (wM, wN, 1), permutation_mnk=(16 * wM, 16 * wN, 16))
        tiles = cute.ceil_div(mA.shape[0], bM) * cute.ceil_div(mB.shape[0], bN)
        extras = extras if const_expr(len(extras) > 0) else None
        self.kernel(tiled_mma, mA, mB, mD, extras, alpha, beta).launch(
            grid=(tiles, 1, 1), block=(self.threads, 1, 1), stream=stream,
            min_blocks_per_mp=ctas, preferred_smem_carveout=100)

    @cute.kernel
    def kernel(self, tiled_mma: cute.TiledMma, mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, extras,
               alpha: Float32, beta: Float32):
        (bM, bN, bK), stages, _, _ = self.config
        thread, _, _ = cute.arch.thread_idx()
        tile, _, _ = cute.arch.block_idx()
        tiles_m, tiles_n = cute.ceil_div(mA.shape[0], bM), cute.ceil_div(mB.shape[0], bN)
        first, tile = tile // (BAND * tiles_n) * BAND, tile % (BAND * tiles_n)
        height = cutlass.min(tiles_m - first, BAND)
        m, n = first + tile % height, tile // height

        ring = cutlass.memory.SmemAllocator().allocate_array(self.dtype, stages * (bM + bN) * bK, byte_alignment=1024)
        sA = cute.make_tensor(ring, cute.make_ordered_layout((bM, bK, stages), order=(1, 0, 2)))
        sB = cute.make_tensor(ring + cute.size(sA), cute.make_ordered_layout((bN, bK, stages), order=(1, 0, 2)))
        thr_mma = tiled_mma.get_slice(thread)
        ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), self.dtype)
        s2r_a = cute.make_tiled_copy_A(ldmatrix, tiled_mma).get_slice(thread)
        s2r_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma).get_slice(thread)
        tXsA, tXsB = s2r_a.partition_S(sA), s2r_b.partition_S(sB)  # (vector, M or N, K, stages)
        tXsA, tXsB = ([swizzled(tX, bK, block) for block in range(bK // 16)] for tX in (tXsA, tXsB))
        tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA[None, None, 0]))  # (MMA, M, K)
        tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB[None, None, 0]))  # (MMA, N, K)
        tXrA, tXrB = s2r_a.retile(tCrA), s2r_b.retile(tCrB)
        acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((bM, bN)), Float32)
        acc.fill(0.0)

        async_copy = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), self.dtype,
                                         num_bits_per_copy=128)
        rows = cute.make_ordered_layout((self.threads * 8 // bK, bK // 8), order=(1, 0))  # of threads, in a tile
        g2s = cute.make_tiled_copy_tv(async_copy, rows, cute.make_layout((1, 8))).get_slice(thread)
        parts = tuple((g2s.partition_S(cute.local_tile(mX, (size, bK), (i, None)))[None, None, 0, None],
                       swizzled(g2s.partition_D(sX), bK, 0), mX.shape[0] - i * size - thread // (bK // 8))
                      for mX, sX, size, i in ((mA, sA, bM, m), (mB, sB, bN, n)))
        left = mA.shape[1] - thread % (bK // 8) * 8  # columns from this thread's first one on

        for k in cutlass.range_constexpr(stages - 1):
            self.load(g2s, parts, left, k, k)
        cute.arch.cp_async_wait_group(stages - 2)
        cute.arch.barrier()
        cute.copy(s2r_a, tXsA[0][None, None, 0], tXrA[None, None, 0])
        cute.copy(s2r_b, tXsB[0][None, None, 0], tXrB[None, None, 0])
        stage, ahead = Int32(0), Int32(stages - 1)  # of tile k, and of the one that is loaded meanwhile
        for k in cutlass.range(cute.ceil_div(mA.shape[1], bK), unroll=1):
            later = stage + 1 if stage + 1 < stages else 0
            for block in cutlass.range_constexpr(bK // 16):
                # The fragments of the next block are read while this one is multiplied, across the barrier too.
                after = const_expr((block + 1) % (bK // 16))
                if const_expr(after == 0):
                    cute.arch.cp_async_wait_group(stages - 2)
                    cute.arch.barrier()  # tile k + 1 has arrived for all threads, and tile k has been read by all
                at = (None, None, stage if const_expr(after > 0) else later)
                cute.copy(s2r_a, tXsA[after][at], tXrA[None, None, after])
                cute.copy(s2r_b, tXsB[after][at], tXrB[None, None, after])
                if const_expr(block == 0):
                    self.load(g2s, parts, left, k + stages - 1, ahead)
                cute.gemm(tiled_mma, acc, tCrA[None, None, block], tCrB[None, None, block], acc)
            ahead, stage = stage, later
        cute.arch.cp_async_wait_group(0)
        cute.arch.barrier()

        # NOTE: the swizzle of a pointer counts bytes, not elements: base 4 for vectors of 16 bytes
        layout = cute.tile_to_shape(cute.make_layout((8, 64), stride=(64, 1)), (bM, bN), (0, 1))
        sD = cute.make_tensor(cute.recast_ptr(ring, cute.make_swizzle(3, 4, 3), self.dtype), layout)
        m, n = m * bM, n * bN
        tCsD, tCcD = thr_mma.partition_C(sD), thr_mma.partition_C(cute.make_identity_tensor((bM, bN)))
        for v in cutlass.range_constexpr(cute.size(acc)):
            at = (m + tCcD[v][0], n + tCcD[v][1])
            if const_expr(extras is None):
                acc[v] = epilogue(acc[v], (), alpha, beta)
            elif cute.elem_less(at, extras[0].shape):  # NOTE: without branches all loads begin at once, and spill
                acc[v] = epilogue(acc[v], [mE[at].to(Float32) for mE in extras], alpha, beta)
        rD = cute.make_rmem_tensor(acc.layout, self.dtype)
        rD.store(acc.load().to(self.dtype))
        cute.autovec_copy(rD, tCsD)
        cute.arch.barrier()
        for i in cutlass.range_constexpr(bM * bN // 8 // self.threads):
            row, column = (thread + i * self.threads) // (bN // 8), thread % (bN // 8)
            if m + row < mD.shape[0] and n + column * 8 < mD.shape[1]:
                cute.autovec_copy(cute.local_tile(sD[row, None], (8,), (column,)),
                                  cute.local_tile(mD[m + row, None], (8,), (n // 8 + column,)))

    @cute.jit
    def load(self, g2s, parts, left, k, stage):
        """Start loading this thread's parts of K tile k, (from, to, rows left), with zeros beyond the matrix: there too
        without a branch, around which the compiler could not mix these instructions with products."""
        bK = self.config.tile[2]
        for tXgX, tXsX, rows in parts:
            limit = rows if k * bK < left else 0
            pred = cute.make_rmem_tensor((1, tXgX.shape[1]), cutlass.Boolean)
            for i in cutlass.range_constexpr(cute.size(pred)):
                pred[i] = i * (self.threads * 8 // bK) < limit
            cute.copy(g2s, tXgX[None, None, k], tXsX[None, None, stage], pred=pred)
        cute.arch.cp_async_commit_group()


def swizzled(tX, bK, block):
    """A thread's part of K block `block` in a ring, (vector, rows, stages), with the vectors of 16 bytes exchanged by
    row, so that neither cp.async nor ldmatrix conflicts. What lies between a thread's rows, or stages, does not
    change that: one XOR here, and the main loop adds constants."""
    start = tX.iterator.toint()
    start ^= (start >> 3 & (bK // 8 - 1) << 4) ^ 32 * block
    start = cute.make_ptr(tX.element_type, start, cute.AddressSpace.smem, assumed_align=16)
    return cute.make_tensor(start, tX[None, None, 0, None].layout)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(config, dtype, kinds):
    """launch(alpha, beta, A, B, D, *extras); sizes and strides are run-time values, K and D's width multiples of 8."""
    M, N, K, width = cute.sym_int(), cute.sym_int(), *(cute.sym_int(divisibility=8) for _ in range(2))

    def rows(*shape):
        return make_fake_tensor(DTYPES[dtype], shape, (cute.sym_int64(divisibility=8), 1), assumed_align=16)

    extras = [make_fake_tensor(DTYPES[kind], (M, N), (cute.sym_int64(), cute.sym_int64())) for kind in kinds]
    compiled = cute.compile(Gemm(config), Float32(1), Float32(1), make_fake_stream(use_tvm_ffi_env_stream=True),
                            rows(M, K), rows(N, K), rows(M, width), *extras, options="--enable-tvm-ffi")
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


def _require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


def _rows(x, name):
    """x with rows at multiples of 16 bytes and a multiple of 8 columns: x itself, or a copy with zeros behind."""
    if x.shape[1] % 8 == 0 and x.data_ptr() % 16 == 0 and x.stride(1) == 1 and (x.stride(0) % 8 == 0 < x.stride(0)):
        return x
    warnings.warn(f"{name} copied: cp.async takes contiguous rows at multiples of 16 bytes", stacklevel=3)
    padded = x.new_zeros(x.shape[0], -(-x.shape[1] // 8) * 8)
    padded[:, : x.shape[1]] = x
    return padded


@functools.lru_cache(maxsize=4096)
def _choose(config, m, n, k, device):
    """config, or without one that of least estimate_us, with as many CTAs per SM as fit into its shared memory."""
    gpu = torch.cuda.get_device_properties(device)
    fitting = [c._replace(ctas=min(c.ctas, gpu.shared_memory_per_multiprocessor // (c.ring_bytes + 1024)))
               for c in ([Config(*config)] if config else CONFIGS) if c.ring_bytes <= gpu.shared_memory_per_block_optin]
    _require(fitting, f"{config} takes more than {gpu.shared_memory_per_block_optin} bytes of shared memory")
    return min(fitting, key=lambda c: estimate_us(c, m, n, k, gpu.multi_processor_count))


def kernel_fn(a, b, c=None, alpha=1.0, beta=1.0, *, config=None):  # EDIT
    """alpha * a @ b.mT + beta * c, new: a (M, K) and b (N, K) of bfloat16 or float16 alike, c broadcasts to (M, N).
    config: one of CONFIGS, that of least estimate_us by default."""
    extras = [] if c is None else [c]
    tensors = [a, b, *extras]
    _require(a.dtype in (torch.bfloat16, torch.float16) and b.dtype == a.dtype,
             f"a and b must both be bfloat16 or float16, got {a.dtype} and {b.dtype}")
    _require(a.is_cuda and all(x.device == a.device for x in tensors), "the tensors must be on one CUDA device")
    _require(a.ndim == b.ndim == 2 and a.shape[1] == b.shape[1] > 0,
             f"a and b must be (M, K) and (N, K), K > 0, got {tuple(a.shape)} and {tuple(b.shape)}")
    _require(not torch.is_grad_enabled() or not any(x.requires_grad for x in tensors),
             "this kernel has no backward: detach the tensors or call it under torch.no_grad()")
    m, n = a.shape[0], b.shape[0]
    for x in extras:
        sizes = (1, 1, *x.shape)[-2:]
        fits = x.dtype in DTYPES and x.ndim <= 2 and sizes[0] in (1, m) and sizes[1] in (1, n)
        _require(fits, f"what the epilogue reads must broadcast to {(m, n)}, got {x.dtype} {tuple(x.shape)}")
    out = a.new_empty(m, -(-n // 8) * 8)
    if m and n:
        launch = _launcher(_choose(config, m, n, a.shape[1], a.device), a.dtype, tuple(x.dtype for x in extras))
        launch(float(alpha), float(beta), _rows(a, "a"), _rows(b, "b"), out, *(x.expand(m, n) for x in extras))
    return out[:, :n].contiguous()


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
