"""Row RMSNorm, out = x / sqrt(mean(x^2) + eps) * weight, of x or x + residual (memory-bound).

Idea      A row stays in registers between its one read and its one write. Each warp reduces its part by shuffles; the
          parts meet once, in the shared memory of every CTA that works on the row: a cluster of them when it is long.
Layout    A row belongs to `threads` threads of each CTA of its cluster, `vectors` 16-byte vectors each, neighbouring
          vectors to neighbouring threads. A row that starts off 16 bytes (odd N) is cut at the vector boundaries of
          memory; the few elements before the first and after the last go one to a thread.
Requires  sm_80 or newer (sm_90 past 32768 columns); float32, float16 or bfloat16; less than 2^31 rows at any stride,
          1 to 262144 contiguous columns, compiled in. No backward. Bad input: ValueError before any launch.
Verify    python scripts/verify_kernel.py examples/rmsnorm.py
Measured  H200: 0.99 to 1.22 times as fast as quack, torch.compile
          (results/h200-2026-11-22-66cfe61-kernels.json)
"""

import functools
import operator
import os

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}
VIEWS = {  # of an (M, N + 1) tensor as (M, N)
    "contiguous": lambda x: x[:, 1:].contiguous(),
    "strided": lambda x: x[:, 1:],
    "misaligned": lambda x: x.flatten()[1 : x.numel() - len(x) + 1].view(len(x), -1),
    "offset": lambda x: x[:, 1:] + 100,
}
TEST_CASES = {
    **{f"{m}x{n}": {"shape": (m, n)} for m, n in ((0, 64), (1, 1), (1000, 4), (77, 129), (16, 4096), (130, 20000))},
    **{view: {"shape": (130, 1032), "view": view} for view in VIEWS},
    "residual": {"shape": (130, 1032), "residual": True},
    "residual odd": {"shape": (130, 1033), "residual": True},
    "fp16": {"shape": (300, 3000), "dtype": torch.float16},
    "fp32": {"shape": (5, 30000), "dtype": torch.float32, "view": "misaligned"},
}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((32768, 256), (32768, 1024), (16384, 4096), (8192, 8192),
    (4096, 32768), (2048, 131072), (1024, 6168), (16, 4096), (1, 131072), (8192, 4097), (2048, 50257))}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">=2", "STG.128": ">=2", "registers": "<=96", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(4096, 4096), dtype=torch.bfloat16, view="contiguous", residual=False, device="cuda"):
    """[x (M, N), weight (N), residual (M, N) if asked for], x in one of VIEWS."""  # EDIT
    x = VIEWS[view](torch.randn(shape[0], shape[1] + 1, dtype=dtype, device=device))
    weight = torch.randn(shape[1], dtype=dtype, device=device)
    return [x, weight, torch.randn_like(x)] if residual else [x, weight]


def reference_fn(x, weight, residual=None):  # EDIT: the operation in PyTorch
    h = x if residual is None else x + residual
    y = torch.nn.functional.rms_norm(h, h.shape[1:], weight, EPS)
    return y if residual is None else (y, h)


# EDIT: the statistics of a row, of parts together (merge), and the result they give (finish).
EPS = 1e-6
EMPTY = (0.0,)  # the statistic of nothing: sum of squares
PADDING = 0.0  # an element that changes no statistic


def merge(squares, across):
    """The statistics of parts, or elements, together; across(operation, values) reduces values over them."""
    return (across(operator.add, squares),)


def finish(x, squares, columns, weight):
    """The results (E,) of the elements x (E,), from the statistics of their row."""
    return x * cute.math.rsqrt(squares / columns + EPS) * weight.to(Float32)


# --- Configuration ---------------------------------------------------------------------------------------------------

@functools.cache
def _configure(rows, columns, vector):
    """(threads of a CTA on one row, vectors of a thread, rows of a CTA, CTAs on one row): small CTAs, no padding."""
    arch = os.environ.get("CUTE_DSL_ARCH") or "sm_{}{}".format(*torch.cuda.get_device_capability())
    cluster = 1
    while 8192 < columns > cluster * (4096 if rows * cluster <= 64 else 8192 if cluster < 8 else 16384):
        cluster *= 2
    cluster = min(cluster, {"8": 1, "9": 16, "10": 16}.get(arch.removeprefix("sm_").rstrip("af")[:-1], 8))
    vectors = -(-columns // (vector * cluster))
    if vectors <= 64:
        threads = 1 << ((vectors + 1) // 2 - 1).bit_length()
        return threads, -(-vectors // threads), 128 // threads, 1
    limits = (512 if cluster == 1 else 256, 4)  # threads at most, vectors at least
    ladder = [(-(-vectors // (32 * v)) * 32, v) for v in range(limits[1], 64 // vector + 1)]
    threads, v = min(ladder, key=lambda rung: ((rung[0] > limits[0]) + (rung[0] > 512), rung[0] * rung[1], rung[1]))
    if threads > 512:
        raise ValueError(f"{columns} columns need thread block clusters, which {arch} lacks: use sm_90 or newer")
    return threads, v, 1, cluster


# --- Device ----------------------------------------------------------------------------------------------------------

class RowReduction:
    """mY[m, :] = finish(mX[m, :]). has_edges: the rows of all (M, N) tensors start off 16 bytes, equally."""

    def __init__(self, columns, vector, has_edges, threads, vectors, rows, cluster):
        self.columns, self.vector, self.has_edges = columns, vector, has_edges
        self.threads, self.vectors, self.rows, self.cluster = threads, vectors, rows, cluster
        self.is_exact = not has_edges and columns == threads * vectors * vector * cluster
        self.elements, self.warps = vectors * vector + has_edges, max(1, threads // 32)  # of a thread; of a CTA

    @cute.jit
    def __call__(self, mX, mW, mR, mY, mH, stream):  # EDIT: the tensors, here and below
        grid, block = cute.ceil_div(cute.size(mX, mode=[0]), self.rows) * self.cluster, self.threads * self.rows
        cluster = (self.cluster, 1, 1) if const_expr(self.cluster > 1) else None
        tensors = (mX, mW, mR, mY, mH)
        self.kernel(*tensors).launch(grid=(grid, 1, 1), block=(block, 1, 1), cluster=cluster, stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mW: cute.Tensor, mR, mY: cute.Tensor, mH):
        thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
        row, rank = Int64(block // self.cluster) * self.rows + thread // self.threads, block % self.cluster
        smem = cutlass.memory.SmemAllocator()
        parts = cute.make_layout((1 << (len(EMPTY) - 1).bit_length(), self.warps * self.cluster, self.rows))
        sP = smem.allocate_tensor(Float32, parts, 16)  # (K, P, R) statistics of the parts of each row
        arrived = smem.allocate_array(Int64, 1)  # barrier that counts their bytes
        if const_expr(self.cluster > 1):
            if thread == 0:
                cute.arch.mbarrier_init(arrived, 1)
                cute.arch.mbarrier_init_fence()
                cute.arch.mbarrier_arrive_and_expect_tx(arrived, 4 * cute.size(sP))
            cute.arch.cluster_arrive_relaxed()

        pieces = self.split(mX, row, rank, thread % self.threads)
        held = self.access(mX, row, pieces)  # EDIT: load, finish and store what the operation needs
        x = held.to(Float32)  # (E)
        if const_expr(mR is not None):
            x = x + self.access(mR, row, pieces).to(Float32)
            self.access(mH, row, pieces, store=x)
        weight = self.access(mW, row, pieces)
        across = functools.partial(self.across, min(self.threads, 32))
        part = merge(x * x, across)
        statistics = self.exchange(part, sP, arrived, thread, rank)
        if const_expr(mR is None):
            x = self.again(held, statistics[-1])
        self.access(mY, row, pieces, store=finish(x, *statistics, self.columns, weight))

    def split(self, mX, row, rank, lane):
        """[(first column, length, exists)] of a thread's pieces of a row: its vectors, then an edge element."""
        length = self.vector
        has_row = self.rows == 1 or row < cute.size(mX, mode=[0])  # mX.shape[0] would be 32 bits wide
        head = Int32(-mX[row, None].iterator.toint() & 15) // (mX.element_type.width // 8) if self.has_edges else 0
        first = head + cute.assume((rank * self.vectors * self.threads + lane) * length, divby=length)
        columns = [first + v * self.threads * length for v in range(self.vectors)]
        pieces = [(c, length, has_row if self.is_exact else has_row & (c + length <= self.columns)) for c in columns]
        if self.has_edges:
            edge = lane + Int32(lane >= head) * ((self.columns - head) // length * length)
            pieces.append((edge, 1, has_row & (edge < self.columns) & (rank == 0)))
        return pieces

    @cute.jit
    def access(self, mT, row, pieces, store=None):
        """A thread's elements (E,) of mT[row, :], or of a vector mT, PADDING where there are none; or store them."""
        rT = cute.make_rmem_tensor(self.elements, mT.element_type)
        rT.fill(PADDING)
        if const_expr(store is not None):
            rT.store(store.to(mT.element_type))
        for i, (column, length, exists) in enumerate(pieces):
            pointer, layout = (mT[row, None] if cute.rank(mT) == 2 else mT).iterator + column, cute.make_layout(length)
            if const_expr(self.has_edges and cute.rank(mT) == 2 and length > 1):
                pointer = cute.make_ptr(mT.element_type, pointer.toint(), cute.AddressSpace.gmem, assumed_align=16)
            gT, rPiece = cute.make_tensor(pointer, layout), cute.make_tensor(rT.iterator + i * self.vector, layout)
            if exists:
                cute.autovec_copy(*((gT, rPiece) if store is None else (rPiece, gT)))
        return rT.load()

    def again(self, x, statistic):
        """The elements x (E,) in float32 again. The sign of statistic is 0, which the compiler does not know: else it
        would keep them since before the exchange, in twice the registers, and fewer CTAs would share an SM."""
        if const_expr(x.dtype.width == 32 or self.elements % 2):
            return x.to(Float32)
        rT = cute.make_rmem_tensor(self.elements, x.dtype)
        rT.store(x)
        words = cute.recast_tensor(rT, Int32)
        for i in range(cute.size(words)):
            words[i] = words[i] ^ (statistic.bitcast(Int32) >> 31)
        return rT.load().to(Float32)

    def across(self, lanes, operation, values):
        """operation over the values (E,) of each thread of a group of lanes; in chains, as a tree takes registers."""
        values = [values[i] for i in range(cute.size(values.shape))]
        chains = [functools.reduce(operation, values[i::8]) for i in range(min(8, len(values)))]
        return cute.arch.warp_reduction(functools.reduce(operation, chains), operation, threads_in_group=lanes)

    @cute.jit
    def exchange(self, part, sP, arrived, thread, rank):
        """The statistics of the row; each warp tells those of its part to every CTA of the cluster."""
        lane, group, parts = thread % 32, thread // self.threads, self.warps * self.cluster
        if const_expr(parts == 1):
            return part
        sMine = sP[None, rank * self.warps + thread % self.threads // 32, group]  # (K)
        if const_expr(self.cluster > 1):
            words = [statistic.bitcast(Int32) for statistic in part] + [Int32(0)] * (cute.size(sMine) - len(part))
            cute.arch.cluster_wait()  # until every CTA has its barrier
            if lane < self.cluster:
                cute.arch.store_async_dsmem(sMine.iterator, tuple(words), arrived, lane)
            cute.arch.mbarrier_wait(arrived, 0)
        else:
            if lane == 0:
                for k in cutlass.range_constexpr(len(part)):
                    sMine[k] = part[k]
            cute.arch.barrier()
        lanes = min(32, 1 << (parts - 1).bit_length())
        gathered = [cute.make_rmem_tensor(-(-parts // lanes), Float32) for _ in EMPTY]
        for i in cutlass.range_constexpr(-(-parts // lanes)):
            p = lane % lanes + i * lanes
            for k in cutlass.range_constexpr(len(EMPTY)):
                gathered[k][i] = sP[k, p, group] if p < parts else Float32(EMPTY[k])
        return merge(*[statistic.load() for statistic in gathered], functools.partial(self.across, lanes))


# --- Host ------------------------------------------------------------------------------------------------------------

@functools.cache
def _launcher(dtype, columns, vector, has_edges, has_residual, configuration):
    dtype, rows, unit = DTYPES[dtype], cute.sym_int64(), 1 if has_edges else vector
    fake = functools.partial(make_fake_tensor, dtype, (rows, columns), assumed_align=unit * dtype.width // 8)
    mX, mY = fake(stride=(cute.sym_int64(divisibility=unit), 1)), fake(stride=(columns, 1))  # EDIT: as in __call__
    mR, mH = (fake(stride=(cute.sym_int64(divisibility=unit), 1)), mY) if has_residual else (None, None)
    mW = make_fake_tensor(dtype, (columns,), stride=(1,), assumed_align=unit * dtype.width // 8)
    reduction = RowReduction(columns, vector, has_edges, *configuration)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernel = cute.compile(reduction, mX, mW, mR, mY, mH, stream, options="--enable-tvm-ffi")
    return kernel.__tvm_ffi_object__()  # `kernel` is a slower Python wrapper that adds keyword arguments


def _access(matrices, vectors):  # EDIT: the checks of the inputs
    """(elements per access, has_edges) for matrices (M, N) and vectors (N) alike; ValueError for what does not fit."""
    x = matrices[0]
    if x.ndim != 2 or x.dtype not in DTYPES or not x.is_cuda or not 1 <= x.shape[1] <= 262144 or x.shape[0] >> 31:
        raise ValueError("x must be a float32, float16 or bfloat16 matrix on a CUDA device, of 1 to 262144 columns and "
                         f"less than 2^31 rows; got {x.dtype} of shape {tuple(x.shape)} on {x.device}")
    bits, skew, columns, size = 16, 0, x.shape[1], x.itemsize
    for t, shape in [(t, x.shape) for t in matrices] + [(t, x.shape[1:]) for t in vectors]:
        if t.shape != shape or t.dtype != x.dtype or t.device != x.device or t.stride(-1) != 1 < columns:
            raise ValueError(f"expected {x.dtype} of shape {tuple(shape)} with contiguous columns on {x.device}; "
                             f"got {t.dtype} of shape {tuple(t.shape)} with strides {t.stride()} on {t.device}")
        if t.requires_grad and torch.is_grad_enabled():
            raise ValueError("this kernel has no backward: detach its inputs or call it under torch.no_grad()")
        stride = t.stride(0) if t.ndim == 2 else columns
        bits |= t.data_ptr() | stride * size
        skew |= t.data_ptr() - x.data_ptr() | (stride - x.stride(0)) * size if t.ndim == 2 else 0
    has_edges = bits % 16 > 0 and skew % 16 == 0 and columns >= 128
    return 16 // size if has_edges else (bits & -bits) // size, has_edges


def kernel_fn(x, weight, residual=None):  # EDIT: the inputs and results
    """rms_norm(x, weight) as a new tensor, or (that of h, h) for h = x + residual.

    x and residual (M, N), weight (N), float32, float16 or bfloat16 alike; ValueError for other input.
    """
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    h = None if residual is None else torch.empty_like(out)
    vector, has_edges = _access((x, out) if residual is None else (x, out, residual), (weight,))
    rows, columns = x.shape
    if rows:
        configuration = _configure(min(rows, 64), columns, vector)
        launch = _launcher(x.dtype, columns, vector, has_edges, residual is not None, configuration)
        launch(x, weight, residual, out, h)
    return out if residual is None else (out, h)
