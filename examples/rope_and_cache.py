"""Rotary embedding of q and k, and the append of k and v to a paged KV cache, in one pass (memory-bound).

Idea      What a model does between the qkv projection and attention: q is turned in place; k is turned on its way into
          the cache and never written anywhere else; v is copied there. Each byte is read once and written once.
Layout    The work of a token is numbered through: pairs of vectors of q that turn together, those of k, the vectors of
          k behind rotary_dim, the vectors of v. A thread takes one number, so no value crosses threads, small models
          fill their CTAs too, and all accesses are 128 bits wide where rotary_dim and the strides allow it.
Requires  sm_80 or newer; bfloat16 or float16; NeoX halves (not interleaved pairs), rotary_dim <= dim; a table of the
          same dtype or float32, a row [cosines, sines] for a position. Any strides but the last, so q, k and v may be
          parts of one projection and the cache (pages, page, heads, dim) or heads first. A negative slot is padding:
          k and v are not stored. Other slots must differ and lie in the cache, positions in the table: they are read
          on the device only. Sizes of the model and of a page are compiled in, tokens and pages are not. No backward.
          For a cache in float8_e4m3fn store (x / scale).to(cutlass.Float8E4M3FN) clamped to 448, NaN kept, and give
          the width of a thread's work and the alignment of the cache a number each: FP8 is converted in fours.
Verify    python scripts/verify_kernel.py examples/rope_and_cache.py
Measured  H200: 97.2 us for 16384 tokens of Llama 8B, 4.19 TB/s where a copy of 1 GiB reaches 4.29
          (results/h200-2026-11-22-868a73e-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------


def reference_fn(q, k, v, cos_sin, positions, k_cache, v_cache, slots):
    if bool(((positions < 0) | (positions >= len(cos_sin))).any()):
        raise IndexError("a position is not a row of cos_sin")
    wide, half = torch.promote_types(q.dtype, torch.float32), cos_sin.shape[1] // 2
    cos, sin = cos_sin[positions.long(), None].to(wide).chunk(2, -1)

    def rotate(x):
        a, b, rest = x.to(wide).tensor_split((half, 2 * half), -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), -1).to(x.dtype)

    stored = slots >= 0
    place = slots[stored].long() // k_cache.shape[1], slots[stored].long() % k_cache.shape[1]
    k_cache[place], v_cache[place] = rotate(k)[stored], v[stored]
    return q.copy_(rotate(q)), k_cache, v_cache


MUTATES = (0, 5, 6)
SMALL = {"tokens": 5, "heads": 4, "heads_kv": 1, "dim": 64, "pages": 3}
TEST_CASES = {
    "small": SMALL,
    "no tokens": SMALL | {"tokens": 0},
    "padding alone": SMALL | {"padding": 5},
    "partial": {"tokens": 7, "heads": 3, "heads_kv": 2, "rotary_dim": 32, "pages": 2},
    "narrow": {"tokens": 6, "heads": 2, "heads_kv": 2, "dim": 96, "rotary_dim": 24, "pages": 2},
    "odd": {"tokens": 9, "heads": 3, "heads_kv": 3, "dim": 21, "rotary_dim": 10, "pages": 5, "page": 7},
    "heads first": SMALL | {"heads_kv": 3, "heads_first": True},
    "float32 table": SMALL | {"table": torch.float32},
    "int32": SMALL | {"index": torch.int32},
    "fp16": SMALL | {"dtype": torch.float16},
    "many": SMALL | {"tokens": 100, "heads": 7, "pages": 8, "padding": 31},
    "Llama 8B": {"tokens": 77},
    "prefill": {"tokens": 1031, "heads": 28, "heads_kv": 4, "pages": 100, "padding": 31},
}
BENCH_CASES = {
    **{f"Llama 8B, {tokens}": {"tokens": tokens, "pages": 4096} for tokens in (1, 128, 2048, 16384)},
    "Llama 70B TP8, 8192": {"tokens": 8192, "heads": 8, "heads_kv": 1, "pages": 4096},
    "partial, 8192": {"tokens": 8192, "heads": 96, "heads_kv": 8, "rotary_dim": 64, "pages": 4096},
}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ">=5", "STG.128": ">=5", "registers": "<=64", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(tokens=256, heads=32, heads_kv=8, dim=128, rotary_dim=None, pages=64, page=16, padding=2,
               heads_first=False, dtype=torch.bfloat16, table=None, index=torch.int64, device="cuda"):
    """[q, k, v, cos_sin, positions, k_cache, v_cache, slots]; q, k and v are parts of the rows of one projection."""
    qkv = torch.randn(tokens, heads + 2 * heads_kv, dim, dtype=dtype, device=device)
    rotary_dim, longest = rotary_dim or dim, max(2 * tokens, 128)
    frequency = 10000 ** -(torch.arange(0, rotary_dim, 2, device=device) / rotary_dim)
    angle = torch.arange(longest, device=device)[:, None] * frequency
    cos_sin = torch.cat((angle.cos(), angle.sin()), -1).to(table or dtype)
    positions = torch.randint(longest, (tokens,), dtype=index, device=device)
    shape = (pages, heads_kv, page, dim) if heads_first else (pages, page, heads_kv, dim)
    caches = [torch.randn(shape, dtype=dtype, device=device) for _ in range(2)]
    caches = [cache.transpose(1, 2) for cache in caches] if heads_first else caches
    slots = torch.randperm(pages * page, device=device)[:tokens].to(index)
    slots[torch.randperm(tokens, device=device)[:padding]] = -1
    return [*qkv.split((heads, heads_kv, heads_kv), 1), cos_sin, positions, *caches, slots]


def bytes_moved(q, k, v, cos_sin, positions, k_cache, v_cache, slots):
    """q is read and written up to rotary_dim; k and v are read, and written to the cache; and each token's angles."""
    turned = q[..., : cos_sin.shape[1]].numel() * q.itemsize
    angles = len(q) * (cos_sin.shape[1] * cos_sin.itemsize + positions.itemsize + slots.itemsize)
    return 2 * (turned + k.numel() * k.itemsize + v.numel() * v.itemsize) + angles


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 128
DTYPES = {torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16, torch.float32: cutlass.Float32}
INDICES = {torch.int32: cutlass.Int32, torch.int64: cutlass.Int64}

# --- Device ----------------------------------------------------------------------------------------------------------


class RopeAndCache:
    """heads, heads_kv, dim, rotary_dim and page as in kernel_fn; vector: elements per access."""

    def __init__(self, heads, heads_kv, dim, rotary_dim, page, vector):
        self.page, self.vector = page, vector
        self.pairs = rotary_dim // (2 * vector)  # of vectors that turn together, in one head
        self.vectors = dim // vector  # of one head
        self.rest = self.vectors - 2 * self.pairs  # that do not turn
        self.q = heads * self.pairs
        self.k = heads_kv * (self.pairs + self.rest)
        self.items = self.q + self.k + heads_kv * self.vectors  # of a token

    @cute.jit
    def __call__(self, mQ, mK, mV, mTable, mPosition, mKCache, mVCache, mSlot, stream: cuda.CUstream):
        grid = (cute.ceil_div(mQ.shape[0] * self.items, THREADS), 1, 1)
        self.kernel(mQ, mK, mV, mTable, mPosition, mKCache, mVCache, mSlot).launch(
            grid=grid, block=(THREADS, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mTable: cute.Tensor, mPosition: cute.Tensor,
               mKCache: cute.Tensor, mVCache: cute.Tensor, mSlot: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        token, item = (block * THREADS + thread) // self.items, (block * THREADS + thread) % self.items
        if token < mQ.shape[0]:
            if item < self.q:
                head, pair = item // self.pairs, item % self.pairs
                row = mQ[token, head, None]
                self.rotate(row, row, mTable, mPosition[token], pair)
            else:
                slot = mSlot[token]
                if slot >= 0:
                    page, line = slot // self.page, slot % self.page
                    item -= self.q
                    if item < self.k:
                        head, part = item // (self.pairs + self.rest), item % (self.pairs + self.rest)
                        source, target = mK[token, head, None], mKCache[page, line, head, None]
                        if part < self.pairs:
                            self.rotate(source, target, mTable, mPosition[token], part)
                        else:
                            self.copy(source, target, part + self.pairs)
                    else:
                        head, part = (item - self.k) // self.vectors, (item - self.k) % self.vectors
                        self.copy(mV[token, head, None], mVCache[page, line, head, None], part)

    @cute.jit
    def rotate(self, source, target, mTable, position, pair):
        """Vectors pair and pairs + pair of the row source, turned by the angles of a position, to target."""
        angles = mTable[position, None]
        a, b = self.load(source, pair), self.load(source, self.pairs + pair)
        cos, sin = self.load(angles, pair), self.load(angles, self.pairs + pair)
        self.store(target, pair, a * cos - b * sin)
        self.store(target, self.pairs + pair, b * cos + a * sin)

    @cute.jit
    def copy(self, source, target, part):
        rT = cute.make_rmem_tensor(self.vector, source.element_type)  # (V)
        cute.autovec_copy(cute.local_tile(source, (self.vector,), (part,)), rT)
        cute.autovec_copy(rT, cute.local_tile(target, (self.vector,), (part,)))

    @cute.jit
    def load(self, row, part):
        rT = cute.make_rmem_tensor(self.vector, row.element_type)  # (V)
        cute.autovec_copy(cute.local_tile(row, (self.vector,), (part,)), rT)
        return rT.load().to(Float32)

    @cute.jit
    def store(self, row, part, values):
        rT = cute.make_rmem_tensor(self.vector, row.element_type)  # (V)
        rT.store(values.to(row.element_type))
        cute.autovec_copy(rT, cute.local_tile(row, (self.vector,), (part,)))


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, table, position, slot, heads, heads_kv, dim, rotary_dim, page, vector):
    tokens, rows, pages = cute.sym_int(), cute.sym_int(), cute.sym_int()

    def fake(dtype, *shape):
        stride = (*(cute.sym_int64(divisibility=vector) for _ in shape[1:]), 1)
        return make_fake_tensor(dtype, shape, stride=stride, assumed_align=vector * dtype.width // 8)

    def indices(dtype):
        return make_fake_tensor(INDICES[dtype], (tokens,), stride=(1,), assumed_align=INDICES[dtype].width // 8)

    dtype, table = DTYPES[dtype], DTYPES[table]
    caches = [fake(dtype, pages, page, heads_kv, dim) for _ in range(2)]
    compiled = cute.compile(
        RopeAndCache(heads, heads_kv, dim, rotary_dim, page, vector), fake(dtype, tokens, heads, dim),
        fake(dtype, tokens, heads_kv, dim), fake(dtype, tokens, heads_kv, dim), fake(table, rows, rotary_dim),
        indices(position), *caches, indices(slot), make_fake_stream(use_tvm_ffi_env_stream=True),
        options="--enable-tvm-ffi")
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


def _check(q, k, v, cos_sin, positions, k_cache, v_cache, slots):
    """ValueError for anything that the kernel cannot take."""
    ranks = {"q": (q, 3), "k": (k, 3), "v": (v, 3), "cos_sin": (cos_sin, 2), "k_cache": (k_cache, 4),
             "v_cache": (v_cache, 4), "positions": (positions, 1), "slots": (slots, 1)}
    for name, (x, rank) in ranks.items():
        if x.ndim != rank or not x.is_cuda or x.device != q.device or x.stride(-1) != 1 < x.shape[-1]:
            raise ValueError(f"{name} must have rank {rank} and a contiguous last mode, on the CUDA device of q")
        if x.requires_grad and torch.is_grad_enabled():
            raise ValueError("this kernel has no backward: detach its inputs or call it under torch.no_grad()")
    if q.dtype not in (torch.float16, torch.bfloat16) or cos_sin.dtype not in (q.dtype, torch.float32):
        raise ValueError("q must be bfloat16 or float16, and cos_sin like it or float32; "
                         f"got {q.dtype} and {cos_sin.dtype}")
    if any(x.dtype != q.dtype for x in (k, v, k_cache, v_cache)):
        raise ValueError(f"k, v and the caches must be {q.dtype}, as q is")
    if any(x.dtype not in INDICES or len(x) != len(q) for x in (positions, slots)):
        raise ValueError(f"positions and slots must be int32 or int64, one for each of the {len(q)} tokens")
    (tokens, heads, dim), (pages, page, heads_kv, _), rotary_dim = q.shape, k_cache.shape, cos_sin.shape[1]
    if k.shape != (tokens, heads_kv, dim) or v.shape != k.shape:
        raise ValueError(f"k and v must be ({tokens}, {heads_kv}, {dim}) after q and k_cache; got {tuple(k.shape)} "
                         f"and {tuple(v.shape)}")
    if k_cache.shape != (pages, page, heads_kv, dim) or v_cache.shape != k_cache.shape or not heads * heads_kv * page:
        raise ValueError(f"k_cache and v_cache must be alike, (pages, page, heads_kv, {dim}), and no mode empty; got "
                         f"{tuple(k_cache.shape)} and {tuple(v_cache.shape)} for {heads} heads of q")
    if rotary_dim % 2 or not 0 < rotary_dim <= dim:
        raise ValueError(f"cos_sin must have an even number of columns, 2 to {dim}; got {rotary_dim}")


def kernel_fn(q, k, v, cos_sin, positions, k_cache, v_cache, slots):
    """Turns q in place, stores turned k, and v, to their slots of the caches, and returns (q, k_cache, v_cache).

    q (tokens, heads, dim), k and v (tokens, heads_kv, dim), k_cache and v_cache (pages, page, heads_kv, dim), bfloat16
    or float16 alike; cos_sin (rows, rotary_dim) of the same dtype or float32; positions and slots (tokens,), int32 or
    int64. Slot s is line s % page of page s // page, a negative one is none. ValueError for input it cannot take.
    """
    _check(q, k, v, cos_sin, positions, k_cache, v_cache, slots)
    (tokens, heads, dim), (_, page, heads_kv, _), rotary_dim = q.shape, k_cache.shape, cos_sin.shape[1]
    bits = 8 | rotary_dim // 2 | dim
    for x in (q, k, v, cos_sin, k_cache, v_cache):
        bits |= x.data_ptr() // x.itemsize
        for stride in x.stride()[:-1]:
            bits |= stride
    model = heads, heads_kv, dim, rotary_dim, page, bits & -bits
    if tokens * RopeAndCache(*model).items >= 2**31 - THREADS:
        raise ValueError(f"{tokens} tokens of this model are more than 2^31 vectors: split the tokens")
    if tokens:
        launch = _launcher(q.dtype, cos_sin.dtype, positions.dtype, slots.dtype, *model)
        launch(q, k, v, cos_sin, positions, k_cache, v_cache, slots)
    return q, k_cache, v_cache


if __name__ == "__main__":
    inputs, expected = get_inputs(), get_inputs()
    for x, y in zip(inputs, expected, strict=True):
        y.copy_(x)
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*expected))
    print("PASS")
