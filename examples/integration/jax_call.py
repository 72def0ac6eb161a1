"""A kernel inside jax.jit, with a gradient: cutlass.jax.cutlass_call around the GELU of examples/gelu.py.

Idea      cutlass_call turns a @cute.jit function of (stream, *inputs, *outputs) into a JAX primitive. XLA allocates the
          outputs and launches the kernel from C++; Python runs when the computation is lowered, and compiles there.
          The primitive has no derivative rule: jax.custom_vjp gives it the backward kernel.
Layout    Arrays are passed flat: one kernel for every rank, and JAX's buffers start at 256 bytes, so accesses are 128
          bits wide whatever the size.
Requires  jax 0.6 or newer (`pip install "jax[cuda13]"`, or jax alone to lower without a GPU), Python 3.11; float32,
          float16 or bfloat16.
Verify    python examples/integration/jax_call.py: without a GPU it lowers for one and checks the module, exit code 6
Measured  no times; right on an H200 with jax 0.11.2 (results/h200-2026-11-22-46ef0d6-verification.json)
"""

import functools
import importlib.util
import os
import sys
from pathlib import Path

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print('jax_call.py needs JAX, which is not installed here: pip install "jax[cuda13]"')
    sys.exit(6)

if jax.default_backend() != "gpu":
    os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")  # what to lower for; read when cutlass is imported

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass.jax import cutlass_call

_spec = importlib.util.spec_from_file_location("gelu_kernel", Path(__file__).resolve().parents[1] / "gelu.py")
kernel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kernel)  # a real file: the DSL reads the source of what it compiles

DTYPES = {"float32": cutlass.Float32, "float16": cutlass.Float16, "bfloat16": cutlass.BFloat16}


@cute.jit
def forward(stream: cuda.CUstream, mX: cute.Tensor, mY: cute.Tensor):
    kernel.Elementwise(kernel.gelu_tanh, mX.element_type, 128 // mX.element_type.width)(mY, stream, mX.iterator)


@cute.jit
def backward(stream: cuda.CUstream, mX: cute.Tensor, mG: cute.Tensor, mY: cute.Tensor):
    operation = kernel.Elementwise(kernel.gelu_tanh_backward, mX.element_type, 128 // mX.element_type.width)
    operation(mY, stream, mX.iterator, mG.iterator)


def call(host, x, *others):
    """host(stream, *flat inputs, flat output) on arrays of one shape and dtype; a new array like x."""
    if x.dtype.name not in DTYPES or any((t.shape, t.dtype) != (x.shape, x.dtype) for t in others):
        raise ValueError(f"arrays must be float32, float16 or bfloat16 and alike; got {x.dtype} of shape {x.shape}")
    out = jax.ShapeDtypeStruct((x.size,), x.dtype)
    flat = (t.reshape(-1) for t in (x, *others))
    return cutlass_call(host, output_shape_dtype=out)(*flat).reshape(x.shape)


@jax.custom_vjp
def gelu(x):
    """gelu(x) with tanh, for use under jax.jit on a GPU."""
    return call(forward, x)


gelu.defvjp(lambda x: (call(forward, x), x), lambda x, gradient: (call(backward, x, gradient),))


def check_lowering():
    """Lower the value and the gradient for CUDA on any machine; returns how many kernels the module calls."""
    x = jax.ShapeDtypeStruct((255, 103), jnp.bfloat16)
    both = jax.jit(jax.value_and_grad(lambda t: gelu(2 * t).astype(jnp.float32).sum()))
    return both.trace(x).lower(lowering_platforms=("cuda",)).as_text().count("CuteDSLRT_NvJaxCutlassCall")


def check_on_gpu():
    x = jax.random.normal(jax.random.key(0), (255, 103), dtype=jnp.float32)
    for function in (lambda g: jax.jit(g)(x), lambda g: jax.jit(jax.grad(lambda t: g(2 * t).sum()))(x)):
        difference = jnp.abs(function(gelu) - function(functools.partial(jax.nn.gelu, approximate=True))).max()
        assert difference < 1e-5, difference


if __name__ == "__main__":
    calls = check_lowering()
    assert calls == 2, f"expected a forward and a backward kernel in the lowered module, found {calls}"
    print(f"lowered for CUDA: {calls} kernel calls, jax {jax.__version__}")
    if jax.default_backend() != "gpu":
        print("no GPU here: nothing was run")
        sys.exit(6)
    check_on_gpu()
    print("PASS")
