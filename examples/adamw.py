"""AdamW step of one tensor, in place and in one pass: decoupled weight decay, bias correction (memory-bound).

Idea      Parameter, gradient and both moments are read once, updated in float32 and written once: 28 bytes an element
          in float32, where separate operations would move the same tensors several times. With a float32 master
          parameter, `model` takes its copy in 16 bits in the same pass.
Layout    Thread t of CTA b owns elements (b * THREADS + t) * vector on: 128-bit accesses of float32 tensors, 64-bit
          ones of 16-bit tensors, contiguous over a warp either way.
Requires  sm_80 or newer; param, grad and model float32, float16 or bfloat16 each, moments float32; one shape, dense
          memory, equal strides. A bfloat16 param without a master is rounded to nearest and loses updates below half
          a step: keep a master. One launch a tensor: keep small parameters in one flat buffer. `step` and the rates
          are numbers, which a CUDA graph would freeze. Bad input: ValueError before any launch.
Verify    python scripts/verify_kernel.py examples/adamw.py
Measured  H200: 109 us for 2^24 float32 parameters, a fifth of eager PyTorch's time
          (results/h200-2026-11-22-840cd77-kernels.json)
"""

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, const_expr
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor, make_ptr

# --- Specification ---------------------------------------------------------------------------------------------------

BF16 = torch.bfloat16
TEST_CASES = {
    **{f"n={n}": {"shape": (n,)} for n in (0, 1, 3, 4, 2048, 10_007)},
    "step 1000": {"shape": (33, 35), "step": 1000},
    "no decay": {"shape": (33, 35), "weight_decay": 0.0},
    "bf16 gradient": {"shape": (33, 35), "grad_dtype": BF16},
    "bf16 parameter": {"shape": (33, 36), "dtype": BF16, "grad_dtype": BF16},
    "master": {"shape": (33, 36), "grad_dtype": BF16, "model_dtype": BF16},
    "fp16 master, odd": {"shape": (33, 35), "grad_dtype": torch.float16, "model_dtype": torch.float16},
    "misaligned": {"shape": (33, 35), "grad_dtype": BF16, "model_dtype": BF16, "offset": 1},
    "transposed": {"shape": (36, 33), "is_transposed": True},
}
BENCH_CASES = {
    f"{name} n=2^{log2}": {"shape": (1 << log2,), **dtypes}
    for name, dtypes in {
        "fp32": {},
        "bf16 parameter": {"dtype": BF16, "grad_dtype": BF16},
        "master": {"grad_dtype": BF16, "model_dtype": BF16},
    }.items()
    for log2 in (20, 24, 27)
}
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
EXPECT = {arch: {"LDG.128": 4, "STG.128": 3, "registers": "<=64", "spill_bytes": 0} for arch in ARCHS}
MUTATES = (0, 2, 3, 10)


def get_inputs(shape=(4096, 4096), dtype=torch.float32, grad_dtype=torch.float32, model_dtype=None, step=3,
               weight_decay=0.1, offset=0, is_transposed=False, device="cuda"):  # fmt: skip
    """[param, grad, exp_avg, exp_avg_sq, step, lr, beta1, beta2, eps, weight_decay, model or None]."""

    def tensor(dtype, scale, non_negative=False):
        size = offset + torch.Size(shape).numel()
        x = (scale * torch.randn(size, device=device)).to(dtype)[offset:].view(shape)
        x = x.abs() if non_negative else x
        x = torch.cat((x.new_zeros(offset), x.flatten()))[offset:].view(shape)
        return x.mT.contiguous().mT if is_transposed else x

    param, grad, exp_avg = tensor(dtype, 1.0), tensor(grad_dtype, 0.1), tensor(torch.float32, 0.1)
    model = None if model_dtype is None else tensor(model_dtype, 1.0)
    exp_avg_sq = tensor(torch.float32, 0.01, non_negative=True)
    return [param, grad, exp_avg, exp_avg_sq, step, 1e-3, 0.9, 0.95, 1e-8, weight_decay, model]


def reference_fn(param, grad, exp_avg, exp_avg_sq, step, lr, beta1, beta2, eps, weight_decay, model=None):
    p, g = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (param, grad))
    exp_avg.mul_(beta1).add_(g * (1 - beta1))
    exp_avg_sq.mul_(beta2).add_(g * g * (1 - beta2))
    root = exp_avg_sq.sqrt() / (1 - beta2**step) ** 0.5 + eps
    p = p * (1 - lr * weight_decay) - lr / (1 - beta1**step) * exp_avg / root
    param.copy_(p)
    return (param, exp_avg, exp_avg_sq) if model is None else (param, exp_avg, exp_avg_sq, model.copy_(param))


# --- Configuration ---------------------------------------------------------------------------------------------------

THREADS = 128
VECTOR = 4  # elements of a thread: 128 bits of float32
DTYPES = {torch.float32: cutlass.Float32, torch.float16: cutlass.Float16, torch.bfloat16: cutlass.BFloat16}

# --- Device ----------------------------------------------------------------------------------------------------------


class AdamW:
    """One step on flat tensors of mP's size; the others are pointers, pModel may be None. vector: elements of a thread.

    numbers: 1 - lr * weight_decay, beta1, 1 - beta1, beta2, 1 - beta2, lr / (1 - beta1^step),
    1 / sqrt(1 - beta2^step), eps.
    """

    def __init__(self, vector):
        self.vector = vector

    @cute.jit
    def __call__(self, mP: cute.Tensor, stream: cuda.CUstream, pG, pM, pV, pModel, *numbers):
        grid = (cute.ceil_div(cute.size(mP), THREADS * self.vector), 1, 1)
        self.kernel(mP, pG, pM, pV, pModel, numbers).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mP: cute.Tensor, pG, pM, pV, pModel, numbers):
        decay, beta1, rest1, beta2, rest2, rate, correction, eps = numbers
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        n = cute.size(mP)  # mP.shape[0] would truncate a 64-bit size to Int32
        first = cute.assume((type(n)(block) * THREADS + thread) * self.vector, divby=self.vector)
        is_full = first + self.vector <= n
        views = [
            cute.make_tensor(pointer + first, cute.make_layout(self.vector))  # (V)
            for pointer in (mP.iterator, pG, pM, pV, *(() if const_expr(pModel is None) else (pModel,)))
        ]
        gP, gG, gM, gV = views[:4]

        p, g, m, v = [self.load(view, first, n, is_full) for view in (gP, gG, gM, gV)]  # all in flight together
        m = beta1 * m.load().to(Float32) + rest1 * g.load().to(Float32)
        v = beta2 * v.load().to(Float32) + rest2 * g.load().to(Float32) * g.load().to(Float32)
        p = decay * p.load().to(Float32) - rate * m / (cute.math.sqrt(v) * correction + eps)
        for view, values in ((gM, m), (gV, v), *((view, p) for view in (gP, *views[4:]))):
            self.store(values, view, first, n, is_full)

    @cute.jit
    def load(self, gT, first, n, is_full):
        rT = cute.make_rmem_tensor(self.vector, gT.element_type)  # (V)
        if is_full:
            cute.autovec_copy(gT, rT)
        else:
            rT.fill(0)
            for i in cutlass.range_constexpr(self.vector):
                if first + i < n:
                    rT[i] = gT[i]
        return rT

    @cute.jit
    def store(self, values, gT, first, n, is_full):
        rT = cute.make_rmem_tensor(self.vector, gT.element_type)  # (V)
        rT.store(values.to(gT.element_type))
        if is_full:
            cute.autovec_copy(rT, gT)
        else:
            for i in cutlass.range_constexpr(self.vector):
                if first + i < n:
                    gT[i] = rT[i]


# --- Host ------------------------------------------------------------------------------------------------------------


@functools.cache
def _launcher(dtypes, vector, is_wide):
    """launch(flat param, addresses of grad, exp_avg, exp_avg_sq and model, 8 numbers). dtypes: of the five, or None."""

    def address(dtype):
        return make_ptr(dtype, 16, cute.AddressSpace.gmem, assumed_align=vector * dtype.width // 8)

    dtypes = [dtype and DTYPES[dtype] for dtype in dtypes]
    n, alignment = cute.sym_int(64 if is_wide else 32), vector * dtypes[0].width // 8
    compiled = cute.compile(
        AdamW(vector),
        make_fake_tensor(dtypes[0], (n,), stride=(1,), assumed_align=alignment),
        make_fake_stream(use_tvm_ffi_env_stream=True),
        *(dtype and address(dtype) for dtype in dtypes[1:]),
        *(Float32(0),) * 8,
        options="--enable-tvm-ffi",
    )
    return compiled.__tvm_ffi_object__()  # `compiled` is a slower Python wrapper that adds keyword arguments


def kernel_fn(param, grad, exp_avg, exp_avg_sq, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01,
              model=None):  # fmt: skip
    """One AdamW step; changes and returns (param, exp_avg, exp_avg_sq[, model]); ValueError for what it cannot take.

    Tensors of one shape, dense and with equal strides, on one CUDA device: param, grad and model float32, float16 or
    bfloat16, exp_avg and exp_avg_sq float32. step counts from 1. model takes the new param, rounded to its dtype.
    """
    if not step >= 1 or not 0 <= beta1 < 1 or not 0 <= beta2 < 1:
        raise ValueError(f"expected step >= 1 and betas in [0, 1); got {step}, {beta1} and {beta2}")
    tensors, bits = [param, grad, exp_avg, exp_avg_sq, model], VECTOR
    dense = param if param.is_contiguous() else torch.empty_like(param, device="meta")
    for i, t in enumerate(tensors):
        if t is None:
            continue
        if t.dtype not in DTYPES or not t.is_cuda or t.device != param.device or (i in (2, 3)) > (t.itemsize == 4):
            raise ValueError("param, grad and model must be float32, float16 or bfloat16 and the moments float32, on "
                             f"one CUDA device; got {t.dtype} on {t.device} as argument {i}")
        if t.shape != param.shape or t.stride() != dense.stride():
            raise ValueError(f"expected dense tensors of shape {tuple(dense.shape)} with strides {dense.stride()}; "
                             f"got {tuple(t.shape)} with {t.stride()}")
        if t.requires_grad and torch.is_grad_enabled():
            raise ValueError("an optimiser step records no gradient: call it under torch.no_grad()")
        bits |= t.data_ptr() // t.itemsize
    if n := param.numel():
        launch = _launcher(tuple(None if t is None else t.dtype for t in tensors), bits & -bits, n >= 1 << 30)
        numbers = (1 - lr * weight_decay, beta1, 1 - beta1, beta2, 1 - beta2, lr / (1 - beta1**step),
                   (1 - beta2**step) ** -0.5, eps)  # fmt: skip
        addresses = (t if t is None else t.data_ptr() for t in tensors[1:])
        launch(param.as_strided((n,), (1,)), *addresses, *numbers)
    return (param, exp_avg, exp_avg_sq) if model is None else (param, exp_avg, exp_avg_sq, model)


if __name__ == "__main__":
    inputs = get_inputs()
    expected = reference_fn(*(x.clone() if isinstance(x, torch.Tensor) else x for x in inputs))
    torch.testing.assert_close(kernel_fn(*inputs), expected)
    print("PASS")
