"""A kernel as a PyTorch operator with a gradient: torch.ops.cute_examples.gelu around examples/gelu.py.

Idea      torch.library.custom_op makes the call opaque to torch.compile, so fullgraph=True holds; register_fake says
          what comes out without running it; register_autograd adds the backward kernel. The operators take any strides:
          what the kernel cannot read is copied once, to the strides that the fake result has.
Layout    The CUDA implementation is kernel_fn, the CPU one reference_fn: schema, fake result, gradient and graph are
          checked on a machine without a GPU (`check`), numbers on CUDA and CUDA graphs on one (`check_on_gpu`).
Requires  torch 2.6 or newer. An eager call through the dispatcher costs host time (references/pytorch.md); where that
          matters, call kernel_fn itself outside torch.compile.
Verify    python examples/integration/custom_op.py
Measured  no times; its GPU checks pass on an H200 (results/h200-2026-11-22-46ef0d6-verification.json)
"""

import importlib.util
import sys
from pathlib import Path

import torch

_spec = importlib.util.spec_from_file_location("gelu_kernel", Path(__file__).resolve().parents[1] / "gelu.py")
kernel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kernel)  # a real file: the DSL reads the source of what it compiles


def like(t, x):
    """t with the strides of torch.empty_like(x), which are dense; t itself where it has them already."""
    out = torch.empty_like(x)
    return t if t.stride() == out.stride() else out.copy_(t)


@torch.library.custom_op("cute_examples::gelu", mutates_args=(), device_types="cuda")
def gelu(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    return kernel.kernel_fn(like(x, x), approximate)


@torch.library.custom_op("cute_examples::gelu_backward", mutates_args=(), device_types="cuda")
def gelu_backward(gradient: torch.Tensor, x: torch.Tensor, approximate: str) -> torch.Tensor:
    return kernel.kernel_fn(like(x, x), approximate, like(gradient, x))


@gelu.register_kernel("cpu")
def _(x, approximate="none"):
    return kernel.reference_fn(like(x, x), approximate)


@gelu_backward.register_kernel("cpu")
def _(gradient, x, approximate):
    return kernel.reference_fn(like(x, x), approximate, like(gradient, x))


@gelu.register_fake
def _(x, approximate="none"):
    return torch.empty_like(x)


@gelu_backward.register_fake
def _(gradient, x, approximate):
    return torch.empty_like(x)


def setup_context(ctx, inputs, output):
    x, ctx.approximate = inputs
    ctx.save_for_backward(x)


def backward(ctx, gradient):
    (x,) = ctx.saved_tensors
    return gelu_backward(gradient, x, ctx.approximate), None


gelu.register_autograd(backward, setup_context=setup_context)


def check(device, dtype, backend):
    """Schema, fake results, gradient and torch.compile(fullgraph=True) on a device; raises where one does not hold."""
    for x in (torch.randn(6, 40, device=device, dtype=dtype), torch.randn(40, 12, device=device, dtype=dtype).T[::2]):
        for approximate in ("none", "tanh"):
            torch.library.opcheck(gelu, (x.clone().requires_grad_(), approximate))
            torch.library.opcheck(gelu_backward, (torch.ones_like(x), x, approximate))
            leaf, expected = x.clone().requires_grad_(), x.clone().requires_grad_()
            compiled = torch.compile(lambda t, a=approximate: gelu(2 * t, a) + 1, fullgraph=True, backend=backend)
            compiled(leaf).sum().backward()  # a gradient of stride 0
            (torch.nn.functional.gelu(2 * expected, approximate=approximate) + 1).sum().backward()
            torch.testing.assert_close(leaf.grad, expected.grad)


def check_on_gpu():
    """The operator in a CUDA graph follows new values of its input."""
    x = torch.randn(1 << 16, device="cuda", dtype=torch.bfloat16)
    gelu(x, "tanh")  # compile outside the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = gelu(x, "tanh")
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.testing.assert_close(out, kernel.reference_fn(x, "tanh"))
    steps = torch.compile(lambda t: gelu(t, "none"), fullgraph=True, mode="reduce-overhead")
    for _ in range(3):
        torch.testing.assert_close(steps(x), kernel.reference_fn(x))


if __name__ == "__main__":
    check("cpu", torch.float32, "aot_eager")
    print("CPU: schema, fake results, gradient and torch.compile(fullgraph=True) hold")
    if not torch.cuda.is_available():
        print("no GPU here: the CUDA implementation and CUDA graphs were not run")
        sys.exit(6)
    check("cuda", torch.float32, "inductor")
    check_on_gpu()
    print("PASS")
