"""Elementwise operation on one to three operands, out = operation(x, y, z) (memory-bound).

Idea      One pass: each operand is read once in 128-bit vectors, computed in float32, rounded once and written once;
          the floor is the bytes over the bandwidth of a copy. Tensors that lie flat in the order of the output are
          read flat; any other is read in place through its strides, a broadcast one with stride 0.
Layout    A CTA owns THREADS * VALUES consecutive elements, vector u of thread t starting at (u * THREADS + t) * vector:
          a warp's access is contiguous and all loads of a thread are in flight at once.
Requires  sm_80 or newer; float32, float16 or bfloat16, one dtype for all tensors; shapes that broadcast; any size,
          strides and offset. Numbers are run-time operands. No backward. Bad input: ValueError before any launch.
Verify    python scripts/verify_kernel.py templates/elementwise.py
Measured  results/h200-*-elementwise.json: against torch eager and a copy; results/cpu-*-host.json: host code
"""

import functools
import inspect

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

# --- Specification ---------------------------------------------------------------------------------------------------

OPERATIONS = {  # name: (on float32 vectors in the kernel, the same in PyTorch); its parameters are the operands
    "silu": (lambda x: x * cute.math.rcp(1.0 + cute.math.exp(-x), approx=True, ftz=True), torch.nn.functional.silu),
    "add": (lambda x, y: x + y, torch.add),
    "swiglu": (lambda x, y: OPERATIONS["silu"][0](x) * y, lambda x, y: torch.nn.functional.silu(x) * y),
    "addcmul": (lambda x, y, z: x + y * z, lambda x, y, z: x + y * z),
}
operation, reference_fn = OPERATIONS["swiglu"]  # EDIT: one of OPERATIONS, or a pair of your own
ARITY = len(inspect.signature(operation).parameters)

VIEWS = {  # what get_inputs makes of the last operand
    "flat": lambda x: x,
    "misaligned": lambda x: torch.cat((x.new_zeros(1), x.flatten()))[1:].view(x.shape),
    "strided": lambda x: torch.stack((x, x), -1)[..., 0],
    "transposed": lambda x: x.mT.contiguous().mT,
    "row": lambda x: x[:1],
    "number": lambda x: 0.75,
}
TEST_CASES = {
    **{f"n={n}": {"shape": (n,)} for n in (0, 1, 7, 8, 4096, 1_000_003)},
    **{view: {"shape": (255, 1030), "view": view} for view in VIEWS},
    "fp16": {"shape": (3, 5, 7, 2048), "dtype": torch.float16},
    "fp32": {"shape": (1000, 1032), "dtype": torch.float32},
}
BENCH_CASES = {f"n=2^{log2}": {"shape": (1 << log2,)} for log2 in (12, 16, 20, 24, 28)}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": ARITY, "STG.128": ">0", "registers": "<=64", "spill_bytes": 0} for arch in ARCHS}


def get_inputs(shape=(1024, 4096), dtype=torch.bfloat16, view="flat", device="cuda"):
    """ARITY normally distributed operands of `shape`, the last of them in one of VIEWS."""
    *others, last = (torch.randn(shape, dtype=dtype, device=device) for _ in range(ARITY))
    return [*others, VIEWS[view](last)]


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 128
THREAD_BYTES = 16  # of each operand
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class Elementwise:
    """mC[i] = operation(mX[i], mY[i], mZ[i]); an operand is a tensor with mC's coordinates or a Float32.

    vector: elements per access. Strided operands have vector 1 and modes in the order of mC's memory.
    Tensors come as the caller has them, of any rank; the kernel sees mC flat and the others by `sizes` and `strides`.
    """

    def __init__(self, dtype, vector, is_strided):
        self.vector, self.is_strided = vector, is_strided
        self.vectors = THREAD_BYTES * 8 // dtype.width // vector
        self.tile = THREADS * self.vectors * vector

    @cute.jit
    def __call__(self, mC: cute.Tensor, stream: cuda.CUstream, sizes, strides, *operands):
        n = cute.size(mC)  # mC.shape would be 32 bits wide
        mC = cute.make_tensor(mC.iterator, cute.make_layout((n,)))
        if const_expr(not self.is_strided):
            sizes, strides = (n,), ((1,),) * len(operands)
        operands = tuple(
            x if const_expr(isinstance(x, Float32))
            else cute.make_tensor(x.iterator, cute.make_layout(sizes, stride=stride))
            for x, stride in zip(operands, strides, strict=True)
        )
        grid = (cute.ceil_div(cute.size(mC), self.tile), 1, 1)
        self.kernel(mC, sizes, operands).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mC: cute.Tensor, sizes, operands):
        thread, _, _ = cute.arch.thread_idx()
        tile, _, _ = cute.arch.block_idx()
        n = cute.size(mC)  # mC.shape[0] would truncate a 64-bit size to Int32
        tile = type(n)(tile)
        first = cute.assume(tile * self.tile + thread * self.vector, divby=self.vector)
        offsets = cute.make_layout((self.vector, self.vectors), stride=(1, THREADS * self.vector))  # (V, U)
        is_full = (tile + 1) * self.tile <= n

        index = [first + offsets(i) for i in range(cute.size(offsets))]
        # NOTE: the divisions of a strided coordinate are done once here; behind each operand's bound they would repeat.
        coordinate = [self.coordinate(i, sizes) for i in index] if const_expr(self.is_strided) else index

        values = []
        for mX in operands:
            if const_expr(isinstance(mX, Float32)):
                values.append(cute.full(offsets.shape, mX, Float32))
            else:
                tXrX = cute.make_rmem_tensor(offsets.shape, mX.element_type)  # (V, U)
                if is_full and const_expr(not self.is_strided):
                    cute.autovec_copy(cute.make_tensor(mX.iterator + first, offsets), tXrX)
                else:
                    for i in cutlass.range_constexpr(cute.size(offsets)):
                        if index[i] < n:
                            tXrX[i] = mX[coordinate[i]]
                values.append(tXrX.load().to(Float32))

        tCrC = cute.make_rmem_tensor(offsets.shape, mC.element_type)  # (V, U)
        tCrC.store(operation(*values).to(mC.element_type))
        if is_full:
            cute.autovec_copy(tCrC, cute.make_tensor(mC.iterator + first, offsets))
        else:
            for i in cutlass.range_constexpr(cute.size(offsets)):
                if index[i] < n:
                    mC[index[i]] = tCrC[i]

    def coordinate(self, i, sizes):
        """Coordinate of element i, first mode fastest; cute.idx2crd would truncate it to 32 bits."""
        modes = []
        for size in sizes[:-1]:
            modes.append(i % size)
            i = i // size
        return *modes, i


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtype, ranks, vector, modes, is_wide):
    """launch(output, sizes, strides, *operands); ranks: the output's and each operand's, None for a number.

    Without modes it is the flat kernel, whose sizes and strides are None.
    """
    dtype, index = DTYPES[dtype], Int64 if is_wide else Int32

    def fake(rank):
        if rank is None:
            return Float32(0)
        sizes, strides = ([cute.sym_int(width) for _ in range(rank)] for width in (index.width, 64))
        return make_fake_tensor(dtype, sizes, strides, assumed_align=vector * dtype.width // 8)

    output, *operands = map(fake, ranks)
    compiled = cute.compile(
        Elementwise(dtype, vector, is_strided=modes > 0), output, make_fake_stream(use_tvm_ffi_env_stream=True),
        (index(1),) * modes or None, ((Int64(1),) * modes,) * len(operands) if modes else None, *operands,
        options="--enable-tvm-ffi",
    )
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


@functools.lru_cache(maxsize=4096)
def _plan(dtype, alignment, layout, *facts):
    """What follows from each operand's (shape, strides), or type of number: (launch, shape, sizes, strides).

    layout: the strides of a tensor like the first, from PyTorch: for one on "meta" it would import SymPy, two seconds.
    shape: the output's where it differs from that of the first tensor. sizes and each operand's strides: in the order
    of the output's memory, fastest first, modes merged that every operand steps through alike; None when all lie flat.
    """
    tensors = [fact for fact in facts if isinstance(fact, tuple)]
    is_number = [f not in tensors and issubclass(f, (int, float)) for f in facts]
    if len(facts) != ARITY or dtype not in DTYPES or len(tensors) + sum(is_number) < ARITY or not tensors:
        kinds = ", ".join(str(dtype) if fact in tensors else fact.__name__ for fact in facts)
        raise ValueError(f"the operation takes {ARITY} numbers or tensors of {list(DTYPES)}, got ({kinds})")
    views = [torch.empty_strided(*f, device="meta") if f in tensors else torch.empty((), device="meta") for f in facts]
    try:
        shape = torch.broadcast_tensors(*views)[0].shape  # broadcast_shapes would import SymPy, too
    except RuntimeError:
        raise ValueError(f"the shapes {[tuple(shape) for shape, _ in tensors]} do not broadcast") from None

    first = views[facts.index(tensors[0])]
    out = torch.empty_strided(shape, layout, device="meta") if first.shape == shape else first.new_empty(shape)
    strides = [view.expand(shape).stride() if f in tensors else out.stride() for f, view in zip(facts, views)]
    modes = [[1] * (1 + ARITY)]
    for _, size, *steps in sorted(zip(out.stride(), shape, *strides)):
        if steps == [modes[-1][0] * step for step in modes[-1][1:]]:
            modes[-1][0] *= size
        elif size != 1:
            modes.append([size, *steps])
    sizes, *strides = zip(*([mode for mode in modes if mode[0] != 1] or modes))
    if out.numel() == 0 or all(stride == (1,) for stride in strides):
        sizes = strides = None

    ranks = (out.ndim, *(view.ndim if f in tensors else None for f, view in zip(facts, views)))
    vector = 1 if sizes else alignment // dtype.itemsize
    launch = _launcher(dtype, ranks, vector, len(sizes or ()), out.numel() >= 1 << 30) if out.numel() else None
    return launch, None if first.shape == shape else shape, sizes, strides and tuple(strides)


def _refusal(operands):
    got = [f"{x.dtype} on {x.device}, requires_grad={x.requires_grad}" for x in operands if isinstance(x, torch.Tensor)]
    return ValueError("the tensors must be of one dtype, on one CUDA device and without requires_grad, as there is no "
                      f"backward (detach them, or call under torch.no_grad()); got {'; '.join(got) or 'no tensor'}")


def kernel_fn(*operands):
    """operation(*operands) as a new tensor of the broadcast shape; ValueError for operands it cannot take.

    Tensors are float32, float16 or bfloat16, all of one dtype and on one CUDA device; the others are numbers.
    """
    # NOTE: the host's share of a call: only look-ups here, what follows from them is worked out once, in _plan.
    first, address_bits, facts = None, 16, []
    for x in operands:
        if isinstance(x, torch.Tensor):
            if x.requires_grad and torch.is_grad_enabled():
                raise _refusal(operands)
            first = x if first is None else first
            address_bits |= x.data_ptr()
            facts.append((x.shape, x.stride()))
        else:
            facts.append(type(x))
    if first is None or not first.is_cuda:
        raise _refusal(operands)
    out = torch.empty_like(first)
    launch, shape, sizes, strides = _plan(first.dtype, address_bits & -address_bits, out.stride(), *facts)
    if shape is not None:
        out = first.new_empty(shape)
    if launch:
        try:
            launch(out, sizes, strides, *operands)
        except ValueError as error:  # TVM FFI compares the tensors' dtypes and devices before it launches
            raise _refusal(operands) from error
    return out


if __name__ == "__main__":
    inputs = get_inputs()
    torch.testing.assert_close(kernel_fn(*inputs), reference_fn(*inputs))
    print("PASS")
