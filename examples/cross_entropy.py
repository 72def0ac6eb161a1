"""Cross-entropy of logits x (M, N) against classes target (M), one float32 loss a row (memory-bound).

Idea      A row is read once, into registers. Each warp reduces its part by shuffles; the
          parts meet once, in the shared memory of every CTA that works on the row: a cluster of them when it is long.
Layout    A row belongs to `threads` threads of each CTA of its cluster, `vectors` 16-byte vectors each, neighbouring
          vectors to neighbouring threads. A row that starts off 16 bytes (odd N) is cut at the vector boundaries of
          memory; the few elements before the first and after the last go one to a thread.
Requires  sm_80 or newer (sm_90 past 32768 columns); float32, float16 or bfloat16; less than 2^31 rows at any stride,
          1 to 262144 contiguous columns, compiled in. No backward. Bad input: ValueError before any launch.
Verify    python scripts/verify_kernel.py examples/cross_entropy.py
Measured  H200: 33.5 us for 8192 x 8192, 33.0 us for 16384 x 4096 (0.95 and 1.15 of Quack)
          (results/h200-2026-11-24-b80c2d5-kernels.json)
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
    "masked": lambda x: x[:, 1:].masked_fill(x[:, 1:] + 2 * x[:, :1] > 0, -torch.inf),
    "huge": lambda x: x[:, 1:] * (torch.finfo(x.dtype).max / 8),
}
TEST_CASES = {
    **{f"{m}x{n}": {"shape": (m, n)} for m, n in ((0, 64), (1, 1), (1000, 4), (77, 129), (16, 4096), (130, 20000))},
    **{view: {"shape": (130, 1032), "view": view} for view in VIEWS},
    "fp16": {"shape": (300, 3000), "dtype": torch.float16},
    "fp32": {"shape": (5, 30000), "dtype": torch.float32, "view": "misaligned"},
}
BENCH_CASES = {f"{m}x{n}": {"shape": (m, n)} for m, n in ((32768, 256), (32768, 1024), (16384, 4096), (8192, 8192),
    (4096, 32768), (2048, 131072), (1024, 6168), (16, 4096), (1, 131072), (8192, 4097), (2048, 50257))}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">=2", "registers": "<=128", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(4096, 32768), dtype=torch.bfloat16, view="contiguous", device="cuda"):  # EDIT: the inputs
    """[logits (M, N), normally distributed, in one of VIEWS, target (M)], one target in eight ignored (-100)."""
    x = VIEWS[view](torch.randn(shape[0], shape[1] + 1, dtype=dtype, device=device))
    target = torch.randint(shape[1], shape[:1], device=device)
    return [x, target.masked_fill(torch.rand(shape[:1], device=device) < 0.125, -100)]


def reference_fn(x, target):  # EDIT: the operation in PyTorch
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    return torch.nn.functional.cross_entropy(x, target, reduction="none")


# EDIT: the statistics of a row, of parts together (merge), and the result they give (finish).
LOG2E = 1.4426950408889634
EMPTY = (-3.4028234663852886e38, 0.0)  # of nothing: maximum (finite, as -inf - -inf is NaN), sum of exp(x - maximum)
PADDING = -Float32.inf  # an element that changes no statistic


def merge(maxima, sums, across):
    """The statistics of parts, or elements, together; across(operation, values) reduces values over them."""
    maximum = cute.arch.fmax(across(cute.arch.fmax, maxima), EMPTY[0])
    return maximum, across(operator.add, sums * cute.math.exp2((maxima - maximum) * LOG2E, fastmath=True))


def finish(chosen, maximum, total):
    """The loss of a row from the logit of its target and its statistics."""
    return cute.math.log(total) + (maximum - chosen)


# --- Configuration ---------------------------------------------------------------------------------------------------

@functools.cache
def _configure(rows, columns, vector):
    """(threads of a CTA on one row, vectors of a thread, rows of a CTA, CTAs on one row): four vectors, no padding."""
    arch = os.environ.get("CUTE_DSL_ARCH") or "sm_{}{}".format(*torch.cuda.get_device_capability())
    cluster = 1
    while 8192 < columns > cluster * (4096 if rows * cluster < 64 else 16384):
        cluster *= 2
    cluster = min(cluster, {"8": 1, "9": 16, "10": 16}.get(arch.removeprefix("sm_").rstrip("af")[:-1], 8))
    vectors = -(-columns // (vector * cluster))
    if vectors <= 128:
        threads = min(32, 1 << ((vectors + 1) // 2 - 1).bit_length())
        return threads, -(-vectors // threads), 128 // threads, 1
    ladder = [(-(-vectors // (32 * v)) * 32, v) for v in range(4, 64 // vector + 1)]
    threads, v = min(ladder, key=lambda rung: (rung[0] > 512, rung[0] * rung[1], rung[1]))
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
    def __call__(self, mX: cute.Tensor, mT: cute.Tensor, mY: cute.Tensor, stream):  # EDIT: the tensors
        grid, block = cute.ceil_div(cute.size(mX, mode=[0]), self.rows) * self.cluster, self.threads * self.rows
        cluster = (self.cluster, 1, 1) if const_expr(self.cluster > 1) else None
        tensors = (mX, mT, mY)
        self.kernel(*tensors).launch(grid=(grid, 1, 1), block=(block, 1, 1), cluster=cluster, stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mT: cute.Tensor, mY: cute.Tensor):
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
        x = self.access(mX, row, pieces).to(Float32)  # (E)  EDIT: load, finish and store what the operation needs
        is_first = (row < cute.size(mX, mode=[0])) & (rank == 0) & (thread % self.threads == 0)
        target, chosen = Int64(-1), Float32(0)
        if is_first:
            target = mT[row]
            if target >= 0:
                chosen = mX[row, target].to(Float32)
        part = merge(x, cute.full_like(x, 1.0), functools.partial(self.across, min(self.threads, 32)))
        statistics = self.exchange(part, sP, arrived, thread, rank)
        if is_first:
            mY[row] = finish(chosen, *statistics) if target >= 0 else Float32(0)

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
def _launcher(dtype, columns, vector, has_edges, configuration):
    dtype, rows, unit = DTYPES[dtype], cute.sym_int64(), 1 if has_edges else vector
    fake = functools.partial(make_fake_tensor, dtype, (rows, columns), assumed_align=unit * dtype.width // 8)
    mX = fake(stride=(cute.sym_int64(divisibility=unit), 1))
    mY = make_fake_tensor(Float32, (rows,), stride=(1,), assumed_align=4)  # EDIT: the tensors of __call__
    mT = make_fake_tensor(Int64, (rows,), stride=(1,), assumed_align=8)
    reduction = RowReduction(columns, vector, has_edges, *configuration)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    kernel = cute.compile(reduction, mX, mT, mY, stream, options="--enable-tvm-ffi")
    return kernel.__tvm_ffi_object__()  # `kernel` is a slower Python wrapper that adds keyword arguments


def kernel_fn(x, target):  # EDIT: the inputs, their checks, the results
    """cross_entropy(x, target, reduction="none") as float32 (M); ValueError for input that it cannot take.

    x (M, N) float32, float16 or bfloat16; target (M) int64, classes from 0 to N - 1, or negative for a loss of 0.
    """
    if (x.ndim != 2 or x.dtype not in DTYPES or not x.is_cuda or not 1 <= x.shape[1] <= 262144 or x.shape[0] >> 31
            or x.stride(1) != 1 < x.shape[1] or (x.requires_grad and torch.is_grad_enabled())):
        got = f"{x.dtype}, shape {tuple(x.shape)}, strides {x.stride()}, {x.device}, requires_grad={x.requires_grad}"
        raise ValueError("x must be a float32, float16 or bfloat16 matrix of less than 2^31 rows and 1 to 262144 "
                         f"contiguous columns, on a CUDA device and without requires_grad; got {got}")
    if target.dtype != torch.int64 or target.shape != x.shape[:1] or target.device != x.device or target.stride(0) != 1:
        raise ValueError(f"target must be contiguous int64 of shape ({x.shape[0]},) on {x.device}; got {target.dtype}, "
                         f"shape {tuple(target.shape)}, strides {target.stride()} on {target.device}")
    out, (rows, columns), size = torch.empty(x.shape[0], dtype=torch.float32, device=x.device), x.shape, x.itemsize
    if rows:
        bits = 16 | x.data_ptr() | x.stride(0) * size | columns * size
        has_edges = bits % 16 > 0 and columns >= 128
        vector = 16 // size if has_edges else (bits & -bits) // size
        _launcher(x.dtype, columns, vector, has_edges, _configure(min(rows, 64), columns, vector))(x, target, out)
    return out
