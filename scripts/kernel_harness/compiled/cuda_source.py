"""CUDA C++ that a kernel file hands over as a string (torch.cuda._compile_kernel), where there is no GPU.

PyTorch compiles such a string with NVRTC and launches through the driver; here nvcc compiles it, and whoever stands in
for the GPU gets the launch. The functions that are stood in for are torch.cuda._utils._nvrtc_compile and
_cuda_load_module of torch 2.13; what they accept and refuse is theirs. Extensions with C++ host code are for
cuda_extension.py. Standard library only.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 300  # seconds; nvcc takes some on a busy machine
LARGE_SHARED = 48 << 10  # bytes of dynamic shared memory from which on set_shared_memory_config must be called


class CudaSourceError(RuntimeError):
    """nvcc does not compile the source; the message is its own."""


@dataclass(frozen=True)
class Compiled:
    """ptx: text; cubin: bytes; entries: the kernels' names in them."""

    ptx: str
    cubin: bytes

    @property
    def entries(self) -> list[str]:
        return re.findall(r"\.entry\s+([\w$]+)", self.ptx)


@functools.cache
def nvcc() -> str | None:
    """The compiler: of CUDA_HOME, on PATH, or in /usr/local/cuda; None where there is none."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc", path=f"{home}/bin") or shutil.which("nvcc")


@functools.cache
def compiled(source: str, name: str, arch: str, options: tuple[str, ...] = ()) -> Compiled:
    """``source`` compiled for ``arch``; ``name`` is the file's name in messages. Raises CudaSourceError."""
    with tempfile.TemporaryDirectory(prefix="cuda-source-") as folder:
        file = Path(folder, re.sub(r"\W", "_", name)).with_suffix(".cu")
        file.write_text(source)
        command = [nvcc(), f"-arch={arch}", "-lineinfo", "-cubin", "--keep", "--keep-dir", folder, *options]
        image = file.with_suffix(".image")
        run = subprocess.run(
            [*command, "-o", str(image), file.name], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT
        )
        if run.returncode:
            raise CudaSourceError(f"Kernel compilation failed (nvcc for {arch}):\n{run.stderr or run.stdout}")
        # Line information names the file as it is, without the folder that is gone when somebody reads it.
        return Compiled(file.with_suffix(".ptx").read_text().replace(f"{folder}/", ""), image.read_bytes())


def lowered(name: str, entries: list[str]) -> str:
    """The name of the kernel ``name`` among the entries of a module: as it is, or as C++ mangles it."""
    plain = name.rsplit("::", 1)[-1]
    mangled = [entry for entry in entries if entry.startswith("_Z") and f"{len(plain)}{plain}" in entry]
    if name in entries or len(mangled) == 1:
        return name if name in entries else mangled[0]
    raise CudaSourceError(f"no kernel {name} was compiled; there are {', '.join(entries) or 'none'}")


class Binary(bytes):
    """What _nvrtc_compile returns: the cubin, with the PTX beside it."""

    compiled: Compiled


class Kernel:
    """A loaded kernel, called as torch.cuda._utils._CudaKernel is.

    launch(kernel, grid, block, arguments, shared_bytes, tensors): arguments are the bytes of each, tensors those of
    them that are tensors, by position.
    """

    def __init__(self, code: Compiled, name: str, launch: Callable):
        self.code, self.name, self.shared_limit, self._launch = code, name, 0, launch

    def set_shared_memory_config(self, shared_mem_bytes: int) -> None:
        self.shared_limit = shared_mem_bytes

    def __call__(self, grid=(1, 1, 1), block=(1, 1, 1), args=None, shared_mem=0, stream=None) -> None:
        if shared_mem >= LARGE_SHARED and shared_mem > self.shared_limit:
            raise RuntimeError(
                f"Kernel requires {shared_mem} bytes of shared memory (>= 48KB), but {self.shared_limit} bytes are "
                "configured. Call kernel.set_shared_memory_config(shared_mem) before launching the kernel."
            )
        arguments = [_bytes_of(value) for value in args or ()]
        tensors = {index: value for index, value in enumerate(args or ()) if hasattr(value, "data_ptr")}
        self._launch(self, tuple(grid), tuple(block), arguments, shared_mem, tensors)


def _bytes_of(value) -> bytes:
    """An argument as PyTorch passes it: the address of a tensor, an int of 32 bits, a double."""
    if hasattr(value, "data_ptr"):
        return bytes(ctypes.c_uint64(value.data_ptr()))
    if isinstance(value, (int, float)):
        return bytes(ctypes.c_int(value) if isinstance(value, int) else ctypes.c_double(value))
    raise TypeError(f"Unsupported argument type: {type(value)}")


def stand_ins(arch: str, launch: Callable, keep: Callable[[str, Compiled], None] = lambda name, code: None) -> dict:
    """{name in torch.cuda._utils: function}. keep(kernel name, code) is told of each compilation."""

    def nvrtc_compile(kernel_source, kernel_name, compute_capability=None, cuda_include_dirs=None, nvcc_options=None,
                      auto_pch=False):  # fmt: skip
        options = [*(f"-I{folder}" for folder in cuda_include_dirs or ()), *(nvcc_options or ())]
        code = compiled(kernel_source, kernel_name, arch, tuple(options))
        binary, name = Binary(code.cubin), lowered(kernel_name, code.entries)
        binary.compiled = code
        keep(name, code)
        return binary, name

    def load_module(binary, kernel_names=None):
        if not isinstance(binary, Binary) or not kernel_names:
            raise CudaSourceError("without a GPU a module is loaded from what _compile_kernel compiled, by kernel name")
        return {name: Kernel(binary.compiled, name, launch) for name in kernel_names}

    return {"_nvrtc_compile": nvrtc_compile, "_cuda_load_module": load_module}
