"""The CUDA C++ part of the stand-in: what torch.cuda._compile_kernel and extensions compile with nvcc, and launch."""

from __future__ import annotations

from . import cubin, cuda_extension, cuda_source
from .import_hook import after_import
from .stand_in import Compiled, Launch, Recorder


class _Host(cuda_extension.Host):
    def __init__(self, recorder: Recorder):
        super().__init__()
        self.recorder = recorder

    def compiled(self, code: cuda_source.Compiled) -> None:
        _keep(self.recorder, code.entries[0], code)

    def launch(self, launch: cuda_extension.Launch) -> None:
        dimensions = launch.grid, launch.block, launch.cluster
        self.recorder.launch(
            Launch(launch.kernel, *dimensions, launch.shared_bytes, launch.parameters, launch.code.cubin)
        )


def listen(recorder: Recorder) -> None:
    """Where there is no nvcc, a string fails to compile as it would without the stand-in."""
    from torch.cuda import _utils

    after_import(cuda_extension.MODULE, lambda: _replace_builds(recorder))
    if cuda_source.nvcc() is None:
        return

    def launch(kernel, grid, block, arguments, shared_bytes, tensors):
        layout = cubin.read(kernel.code.cubin)[kernel.name].parameters
        values = [value[: p.size].ljust(p.size, b"\0") for value, p in zip(arguments, layout, strict=True)]
        recorder.launch(Launch(kernel.name, grid, block, (1, 1, 1), shared_bytes, values, kernel.code.cubin))

    keep = lambda name, code: _keep(recorder, name, code)
    for name, function in cuda_source.stand_ins(recorder.arch, launch, keep).items():
        setattr(_utils, name, function)


def _replace_builds(recorder: Recorder) -> None:
    from torch.utils import cpp_extension

    for name, function in cuda_extension.stand_ins(recorder.arch, _Host(recorder)).items():
        setattr(cpp_extension, name, function)


def _keep(recorder: Recorder, name: str, code: cuda_source.Compiled) -> None:
    if not any(c.cubin == code.cubin for c in recorder.compiled):
        recorder.compiled.append(Compiled("CUDA C++", name, code.ptx, code.cubin))
