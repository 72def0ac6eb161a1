"""Compile the GELU of examples/gelu.py ahead of time into one object file: python export.py FOLDER [--arch sm_90a].

No GPU, driver or torch.cuda is needed. FOLDER/gelu.o holds the host code and the cubin of one architecture, and exports
the TVM FFI function `gelu(x, out)` on flat bfloat16 CUDA tensors of equal size at 16-byte addresses; it launches on the
caller's current stream. load.py calls it from a Python without the source, main.cpp from C++. An `a` architecture
(sm_90a) runs on that compute capability alone: write one object for each.
"""

import argparse
import importlib.util
import os
from pathlib import Path


def load_kernel_file(path):
    """The module of a kernel file; a real import, because the DSL reads the source of what it compiles."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def export(path):
    """Write the object file `path` for the architecture in CUTE_DSL_ARCH."""
    import cuda.bindings.driver as cuda
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

    gelu = load_kernel_file(Path(__file__).resolve().parents[2] / "gelu.py")
    operation = gelu.Elementwise(gelu.gelu_tanh, cutlass.BFloat16, vector=8)

    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
        operation(mY, stream, mX.iterator)

    n = cute.sym_int()  # one unknown for both: a call with different sizes is refused
    flat = make_fake_tensor(cutlass.BFloat16, (n,), stride=(1,), assumed_align=16)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    compiled = cute.compile(host, flat, flat, stream, options="--enable-tvm-ffi")
    compiled.export_to_c(str(path), function_name="gelu")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="sm_90a")
    options = parser.parse_args()
    os.environ["CUTE_DSL_ARCH"] = options.arch  # read when cutlass is imported
    options.folder.mkdir(parents=True, exist_ok=True)
    export(options.folder / "gelu.o")
    print(f"wrote {options.folder / 'gelu.o'} for {options.arch}")
