"""a * x + y over several pairs in one Triton launch, whose pointers and factors are tuples.

catalogue: tricky because one argument of the launch is several parameters of the kernel
seen at: fused optimizers over lists of parameters
expect: PASS
needs: triton
check: values
"""

import torch
import triton
import triton.language as tl


@triton.jit
def multi_axpy(xs, ys, outs, alphas, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    for j in tl.static_range(len(xs)):
        tl.store(outs[j] + i, alphas[j] * tl.load(xs[j] + i, mask=m) + tl.load(ys[j] + i, mask=m), mask=m)


def kernel_fn(xs, ys, alphas):
    xs, ys = tuple(x.contiguous() for x in xs), tuple(y.contiguous() for y in ys)
    outs = tuple(torch.empty_like(x) for x in xs)
    n = xs[0].numel()
    multi_axpy[(triton.cdiv(n, 128),)](xs, ys, outs, tuple(float(a) for a in alphas), n, BLOCK=128)
    return list(outs)


def reference_fn(xs, ys, alphas):
    return [a * x + y for x, y, a in zip(xs, ys, alphas)]


def get_inputs(n=300):
    make = lambda: [torch.randn(n, device="cuda") for _ in range(3)]
    return [make(), make(), [0.5, 2.0, -1.0]]
