"""Matrix product for every GPU from Ampere on, D = epilogue(A @ B^T) (bound by the tensor cores, small M by bytes).

Idea      The instructions that all of them have: cp.async fills a ring of stages, ldmatrix feeds mma.sync, whose sums
          stay in registers up to the epilogue. While a stage is multiplied, the next three are on their way.
Layout    A CTA of 4 warps owns a (128, 128) tile, a warp a quarter of it in the 32 x 32 pattern of tiled_mma. A and B
          tiles are (128, 32) in shared memory, swizzled, so that neither cp.async nor ldmatrix conflicts.
Requires  sm_80 or newer; bfloat16 or float16; A (M, K) and B (N, K). Rows must be contiguous and start at multiples of
          16 bytes: other matrices are copied first, and a warning says so. No backward. Bad input: ValueError. On
          Hopper templates/gemm_sm90.py is the one to take.
Verify    python scripts/verify_kernel.py templates/gemm_sm80.py
"""

import functools
import warnings

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, const_expr
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

TILE = (128, 128, 32)  # (M, N, K) of a CTA
STAGES = 4  # 64 KiB: two CTAs on an SM of an A100 or H100, one on an SM of consumer GPUs
THREADS = 128
BAND = 8  # tiles along M of a band: the CTAs that run together form a rectangle, which shares rows and columns in L2
DTYPES = {torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16, torch.float32: cutlass.Float32}

# --- Device ----------------------------------------------------------------------------------------------------------


def epilogue(acc, extra, alpha, beta):  # EDIT
    """An element of D from that of A @ B^T and those of the extra tensors, all float32; traced for every element."""
    value = alpha * acc
    if const_expr(len(extra) > 0):
        value += beta * extra[0]
    return value


class Gemm:
    """mD[M, N] = epilogue(mA[M, K] @ mB[N, K]^T, extras[M, N])."""

    @cute.jit
    def __call__(self, alpha: Float32, beta: Float32, stream: cuda.CUstream, mA, mB, mD, *extras):
        bM, bN, bK = TILE
        dtype = self.dtype = mA.element_type
        # NOTE: the swizzle of a pointer counts bytes, not elements: base 4 for vectors of 16 bytes
        swizzle = cute.make_swizzle((bK // 8).bit_length() - 1, 4, 3)
        atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, bK), stride=(bK, 1)))
        sA_layout, sB_layout = (cute.tile_to_shape(atom, (rows, bK, STAGES), (0, 1, 2)) for rows in (bM, bN))
        tiled_mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(dtype, Float32, (16, 8, 16)), (2, 2, 1), permutation_mnk=(32, 32, 16))
        tiles = cute.ceil_div(mD.shape[0], bM) * cute.ceil_div(mD.shape[1], bN)
        extras = extras if const_expr(len(extras) > 0) else None
        self.kernel(tiled_mma, mA, mB, mD, extras, sA_layout, sB_layout, alpha, beta).launch(
            grid=(tiles, 1, 1), block=(THREADS, 1, 1), stream=stream,
            min_blocks_per_mp=1)  # NOTE: without it ptxas stops at 168 registers, and spills for sm_120a

    @cute.kernel
    def kernel(self, tiled_mma: cute.TiledMma, mA: cute.Tensor, mB: cute.Tensor, mD: cute.Tensor, extras,
               sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout, alpha: Float32, beta: Float32):
        bM, bN, bK = TILE
        thread, _, _ = cute.arch.thread_idx()
        tile, _, _ = cute.arch.block_idx()
        tiles_m, tiles_n = cute.ceil_div(mD.shape[0], bM), cute.ceil_div(mD.shape[1], bN)
        first, tile = tile // (BAND * tiles_n) * BAND, tile % (BAND * tiles_n)
        height = cutlass.min(tiles_m - first, BAND)
        m, n = first + tile % height, tile // height

        smem = cutlass.memory.SmemAllocator()
        sA = smem.allocate_tensor(self.dtype, sA_layout.outer, 1024, swizzle=sA_layout.inner)  # (bM, bK, stages)
        sB = smem.allocate_tensor(self.dtype, sB_layout.outer, 1024, swizzle=sB_layout.inner)  # (bN, bK, stages)
        thr_mma = tiled_mma.get_slice(thread)
        ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), self.dtype)
        s2r_a = cute.make_tiled_copy_A(ldmatrix, tiled_mma).get_slice(thread)
        s2r_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma).get_slice(thread)
        tXsA, tXsB = s2r_a.partition_S(sA), s2r_b.partition_S(sB)  # (vector, M or N, K, stages)
        tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA[None, None, 0]))  # (MMA, M, K)
        tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB[None, None, 0]))  # (MMA, N, K)
        acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((bM, bN)), Float32)
        acc.fill(0.0)

        k_tiles = cute.ceil_div(mA.shape[1], bK)
        for k in cutlass.range_constexpr(STAGES - 1):
            self.load(mA, sA, m * bM, k, k, k_tiles, thread)
            self.load(mB, sB, n * bN, k, k, k_tiles, thread)
            cute.arch.cp_async_commit_group()
        for k in cutlass.range(k_tiles, unroll=1):
            cute.arch.cp_async_wait_group(STAGES - 2)
            cute.arch.barrier()  # stage k has arrived for all threads, and stage k - 1 has been read by all
            ahead = k + STAGES - 1
            self.load(mA, sA, m * bM, ahead, ahead % STAGES, k_tiles, thread)
            self.load(mB, sB, n * bN, ahead, ahead % STAGES, k_tiles, thread)
            cute.arch.cp_async_commit_group()
            for block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
                at = (None, None, block, k % STAGES)
                cute.copy(s2r_a, tXsA[at], s2r_a.retile(tCrA)[None, None, block])
                cute.copy(s2r_b, tXsB[at], s2r_b.retile(tCrB)[None, None, block])
                cute.gemm(tiled_mma, acc, tCrA[None, None, block], tCrB[None, None, block], acc)
        cute.arch.cp_async_wait_group(0)

        tCcD = thr_mma.partition_C(cute.make_identity_tensor((bM, bN)))  # accumulators lie in pairs along N
        for v in cutlass.range_constexpr(0, cute.size(acc), 2):
            row, column = m * bM + tCcD[v][0], n * bN + tCcD[v][1]
            if row < mD.shape[0] and column < mD.shape[1]:
                pair = cute.make_rmem_tensor(2, Float32)
                for i in cutlass.range_constexpr(2):
                    at = (row, cutlass.min(column + i, mD.shape[1] - 1))
                    values = [mE[at].to(Float32) for mE in (() if const_expr(extras is None) else extras)]
                    pair[i] = epilogue(acc[v + i], values, alpha, beta)
                out = cute.make_rmem_tensor(2, mD.element_type)
                out.store(pair.load().to(mD.element_type))
                gD = cute.local_tile(mD[row, None], (2,), (column // 2,))
                if column + 1 < mD.shape[1]:
                    cute.autovec_copy(out, gD)
                else:
                    gD[0] = out[0]

    @cute.jit
    def load(self, mX, sX, first, k, stage, k_tiles, thread):
        """Start loading rows [first, first + bM or bN) of K tile k into a stage, zeros beyond K; beyond the last row,
        whose products are not stored, the last row once more."""
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), self.dtype,
                                   num_bits_per_copy=128)
        per_row = const_expr(TILE[2] // 8)
        if k < k_tiles:
            for i in cutlass.range_constexpr(cute.size(sX, mode=[0]) * per_row // THREADS):
                row, vector = (thread + i * THREADS) // per_row, thread % per_row
                sV = cute.local_tile(sX[row, None, stage], (8,), (vector,))
                if k * per_row + vector < mX.shape[1] // 8:
                    gX = mX[cutlass.min(first + row, mX.shape[0] - 1), None]
                    cute.copy(atom, cute.local_tile(gX, (8,), (k * per_row + vector,)), sV)
                else:
                    sV.fill(0)


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, kinds):
    """launch(alpha, beta, A, B, D, *extras); sizes and strides are run-time values, K a multiple of 8."""
    M, N, K = cute.sym_int(), cute.sym_int(), cute.sym_int(divisibility=8)

    def rows(*shape):
        return make_fake_tensor(DTYPES[dtype], shape, (cute.sym_int64(divisibility=8), 1), assumed_align=16)

    extras = [make_fake_tensor(DTYPES[kind], (M, N), (cute.sym_int64(), cute.sym_int64())) for kind in kinds]
    compiled = cute.compile(Gemm(), Float32(1), Float32(1), make_fake_stream(use_tvm_ffi_env_stream=True),
                            rows(M, K), rows(N, K), rows(M, N), *extras, options="--enable-tvm-ffi")
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


def kernel_fn(a, b, c=None, alpha=1.0, beta=1.0):  # EDIT
    """alpha * a @ b.mT + beta * c, new: a (M, K) and b (N, K) of bfloat16 or float16 alike, c broadcasts to (M, N)."""
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
        launch = _launcher(a.dtype, tuple(x.dtype for x in extras))
        launch(float(alpha), float(beta), _rows(a, "a"), _rows(b, "b"), out[:, :n], *(x.expand(m, n) for x in extras))
    return out[:, :n].contiguous()


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs), rtol=1e-2, atol=1e-2)
    print("PASS")
