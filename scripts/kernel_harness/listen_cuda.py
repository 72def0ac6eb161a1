"""The CUDA C++ part of the stand-in: what torch.cuda._compile_kernel is given, compiled by nvcc; launches recorded."""

from __future__ import annotations

from . import cubin, cuda_source
from .stand_in import Compiled, Launch, Recorder


def listen(recorder: Recorder) -> None:
    """Where there is no nvcc, a string fails to compile as it would without the stand-in."""
    from torch.cuda import _utils
    from torch.utils import cpp_extension

    cpp_extension.load_inline = cpp_extension.load = cuda_source.Extension

    if cuda_source.nvcc() is None:
        return

    def keep(name, code):
        if not any(c.cubin == code.cubin for c in recorder.compiled):
            recorder.compiled.append(Compiled("CUDA C++", name, code.ptx, code.cubin))

    def launch(kernel, grid, block, arguments, shared_bytes, tensors):
        layout = cubin.read(kernel.code.cubin)[kernel.name].parameters
        values = [value[: p.size].ljust(p.size, b"\0") for value, p in zip(arguments, layout, strict=True)]
        recorder.launch(Launch(kernel.name, grid, block, (1, 1, 1), shared_bytes, values, kernel.code.cubin))

    for name, function in cuda_source.stand_ins(recorder.arch, launch, keep).items():
        setattr(_utils, name, function)
