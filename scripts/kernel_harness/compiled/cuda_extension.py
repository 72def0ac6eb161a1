"""CUDA C++ extensions (torch.utils.cpp_extension.load_inline and load) where there is no GPU.

PyTorch's own build runs, with two things put before its libraries: cuda_host/runtime.cpp in place of libcudart, and the
headers of cuda_host/include in place of those that need PyTorch's CUDA build. The extension's C++ code then runs on CPU
tensors as it would on CUDA tensors, up to its launches, which a Host gets with the PTX that nvcc made. Written for the
cpp_extension of torch 2.13 and the host code of nvcc 13.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from . import cubin
from .cuda_source import Compiled, CudaSourceError, nvcc

MODULE = "torch.utils.cpp_extension"
HERE = Path(__file__).parent / "cuda_host"
HEADERS = [path.read_text() for path in sorted(HERE.rglob("*.*"))]  # read now: a kernel file may not look in here
# How host code may name a CUDA device in a way that the headers do not turn into the CPU.
NAMES_THE_DEVICE = re.compile(r"DeviceType::CUDA|\"cuda\b")
# cudaDeviceAttr -> property of torch.cuda.get_device_properties, or its value on every GPU from Ampere on.
ATTRIBUTES = {
    1: 1024,  # MaxThreadsPerBlock
    8: 49152,  # MaxSharedMemoryPerBlock
    10: 32,  # WarpSize
    12: 65536,  # MaxRegistersPerBlock
    16: "multi_processor_count",
    39: "max_threads_per_multi_processor",
    75: "major",
    76: "minor",
    81: "shared_memory_per_multiprocessor",
    97: "shared_memory_per_block_optin",
}


class HostCodeError(RuntimeError):
    """C++ host code that cannot run without a GPU, or a tool that is missing; nothing is said about the kernel."""


@dataclass(frozen=True)
class Launch:
    """code: what the kernel was compiled to; grid, block, cluster: (x, y, z); parameters: the bytes of each;
    shared_limit and large_cluster: what the host code allowed with cudaFuncSetAttribute; overlaps: a programmatic
    dependent launch, which may begin before the last one ends."""

    code: Compiled
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    parameters: list[bytes]
    shared_limit: int
    large_cluster: bool
    overlaps: bool


class Host:
    """Who stands in for the GPU: launch() is all that it must have."""

    def __init__(self):
        self.allocations: dict[int, object] = {}  # of cudaMalloc, by address

    def compiled(self, code: Compiled) -> None:
        """An extension was built from ``code``, among others."""

    def launch(self, launch: Launch) -> None:
        raise NotImplementedError

    def fresh(self, tensor) -> None:
        """``tensor`` is memory that nobody wrote, made by the extension."""

    def written(self, address: int, count: int) -> None:
        """The host code wrote ``count`` bytes."""

    def symbol(self, code: Compiled, name: str, offset: int, address: int, count: int, is_written: bool) -> None:
        """The host code copies ``count`` bytes from ``address`` to a variable of the module, or the other way."""

    def call(self, arguments: list) -> contextlib.AbstractContextManager:
        """Around a call from Python with these arguments, tensors among them at any depth."""
        return contextlib.nullcontext()

    def allocate(self, count: int) -> int:
        import torch

        tensor = torch.empty(count, dtype=torch.uint8)
        self.fresh(tensor)
        self.allocations[tensor.data_ptr()] = tensor
        return tensor.data_ptr()

    def release(self, address: int) -> None:
        self.allocations.pop(address)

    def attribute(self, identifier: int) -> int:
        """A cudaDeviceAttr of the GPU that is stood in for."""
        import torch

        if identifier not in ATTRIBUTES:
            raise HostCodeError(f"the host code asks for device attribute {identifier}, which is not known here")
        known = ATTRIBUTES[identifier]
        return getattr(torch.cuda.get_device_properties(0), known) if isinstance(known, str) else known


def stand_ins(arch: str, host: Host) -> dict:
    """{name in torch.utils.cpp_extension: function}."""
    from torch.utils import cpp_extension

    real = {name: getattr(cpp_extension, name) for name in ("load_inline", "load")}

    def load_inline(name, cpp_sources, cuda_sources=None, *args, **kwargs):
        cuda_sources = [_without_type(text) for text in _listed(cuda_sources)]
        text = "\n".join([*_listed(cpp_sources), *cuda_sources])

        def build(**extra):
            return real["load_inline"](name, _listed(cpp_sources), list(cuda_sources), *args, **{**kwargs, **extra})

        return Build(arch, name, text, repr((args, sorted(kwargs.items())))).extension(build, kwargs, host)

    def load(name, sources, *args, **kwargs):
        text = "\n".join(Path(source).read_text() for source in _listed(sources))

        def build(**extra):
            return real["load"](name, sources, *args, **{**kwargs, **extra})

        return Build(arch, name, text, repr((sources, args, sorted(kwargs.items())))).extension(build, kwargs, host)

    return {"load_inline": load_inline, "load": load}


def refuse() -> None:
    """From now on extensions with CUDA code are not built, which their functions say when they are called."""
    from torch.utils import cpp_extension

    real = {name: getattr(cpp_extension, name) for name in ("load_inline", "load")}
    unavailable = _Unavailable("a CUDA extension (load_inline, load) runs on a GPU or in the simulator")

    def load_inline(name, cpp_sources, cuda_sources=None, *args, **kwargs):
        if _listed(cuda_sources) or kwargs.get("with_cuda"):
            return unavailable
        return real["load_inline"](name, cpp_sources, cuda_sources, *args, **kwargs)

    def load(name, sources, *args, **kwargs):
        if kwargs.get("with_cuda") or any(str(source).endswith(".cu") for source in _listed(sources)):
            return unavailable
        return real["load"](name, sources, *args, **kwargs)

    cpp_extension.load_inline, cpp_extension.load = load_inline, load


def _listed(sources) -> list[str]:
    return [sources] if isinstance(sources, (str, os.PathLike)) else list(sources or ())


def _without_type(source: str) -> str:
    """The deprecated x.type().is_cuda() as x.is_cuda(), which the headers answer."""
    return re.sub(r"\.\s*type\(\)\s*\.\s*is_cuda\(\)", ".is_cuda()", source)


@dataclass(frozen=True)
class Build:
    """One extension: text is its source, options what else decides what comes of it."""

    arch: str
    name: str
    text: str
    options: str

    def extension(self, build, options: dict, host: Host):
        if missing := _missing():
            return _Unavailable(f"without a GPU an extension (load_inline, load) needs {missing}")
        if not options.get("is_python_module", True):
            return _Unavailable("without a GPU an extension is called as a module, not through torch.ops")
        try:
            with self._alone() as folder:
                library = self._library(folder, build, options)
            module = _imported(library)
        except (ImportError, OSError) as error:  # an undefined symbol
            return _Unavailable(f"the extension {self.name} cannot be loaded without a GPU's libraries: {error}")
        code = [Compiled(path.read_text(), path.with_suffix(".cubin").read_bytes()) for path in folder.glob("*.ptx")]
        code = [one for one in code if one.entries]
        for one in code:
            host.compiled(one)
        return _Extension(module, _Runtime(str(library), code, host), bool(NAMES_THE_DEVICE.search(self.text)))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[Path]:
        """A folder that is kept for the next time, and that no other process builds in."""
        from torch.utils.cpp_extension import get_default_build_root

        root = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or get_default_build_root())
        described = repr((self.name, self.text, self.options, HEADERS)).encode()
        folder = root / f"simulated-{self.arch}-{_versions()}" / hashlib.sha256(described).hexdigest()[:24]
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "building", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder

    def _library(self, folder: Path, build, options: dict) -> Path:
        """The extension's library. PyTorch has Ninja look at every file that went into it, and build what is older."""
        whole = folder / "whole-header"
        if not whole.exists():
            try:
                return self._attempt(folder, build, options, [f"-I{HERE / 'quick'}"])
            except RuntimeError:  # it may be for want of what the short header leaves out
                whole.touch()
        try:
            return self._attempt(folder, build, options, [])
        except RuntimeError as error:
            raise CudaSourceError(f"{self.name} is not built:\n{_compilers_words(str(error), folder)}") from None

    def _attempt(self, folder: Path, build, options: dict, header: list[str]) -> Path:
        import torch
        from torch.utils import cpp_extension

        (folder / "lock").unlink(missing_ok=True)  # PyTorch's, of a build that was killed: it would wait forever
        cpp_extension.JIT_EXTENSION_VERSIONER.entries.pop(self.name, None)  # else another name for a second attempt
        kept = folder / "kept"
        kept.mkdir(exist_ok=True)
        common = ["-include", str(HERE / "include/simulated_cuda.h"), f"-I{HERE / 'include'}"]
        cuda = [*header, *common, "-lineinfo", "--keep", "--keep-dir", str(kept)]
        if not any("arch" in flag for flag in options.get("extra_cuda_cflags") or ()):
            number = self.arch.removeprefix("sm_")
            cuda.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        linked = [f"-L{_runtime_library(folder)}", "-Wl,-Bsymbolic"]
        added = {"extra_cflags": common, "extra_cuda_cflags": cuda, "extra_ldflags": linked}
        given = {name: [*flags, *(options.get(name) or ())] for name, flags in added.items()}
        with (
            mock.patch.object(cpp_extension, "CUDA_HOME", str(Path(nvcc()).resolve().parents[1])),
            mock.patch.object(torch.version, "cuda", torch.version.cuda or "13.0"),  # else Ninja knows of no header
        ):
            library = build(**given, build_directory=str(folder), is_python_module=False)  # so that it gives the path
        for ptx in kept.glob("*.ptx"):
            cubins = sorted(kept.glob(f"{ptx.name.split('.')[0]}.*cubin"))
            if cubins:
                (folder / f"{ptx.stem}.cubin").write_bytes(cubins[-1].read_bytes())
                (folder / f"{ptx.stem}.ptx").write_text(ptx.read_text().replace(f"{folder}/", ""))
        shutil.rmtree(kept)  # preprocessed sources of 17 MB each
        return Path(library)


def _compilers_words(text: str, folder: Path) -> str:
    """Ninja's account of a failed build without its commands, which are two screens each."""
    noise = re.compile(r"-DTORCH_EXTENSION_NAME=|^FAILED: |^ninja: |^Error building extension")
    return "\n".join(line for line in text.splitlines() if not noise.search(line)).replace(f"{folder}/", "").strip()


def _imported(library: Path):
    spec = importlib.util.spec_from_file_location(library.stem, library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _missing() -> str:
    """The tools that PyTorch's build needs and that are not there, or ""."""
    from torch.utils.cpp_extension import get_cxx_compiler

    tools = {"nvcc": nvcc(), "ninja": shutil.which("ninja"), "a C++ compiler": shutil.which(get_cxx_compiler())}
    return " and ".join(name for name, path in tools.items() if not path)


def _versions() -> str:
    import torch

    return f"py{sys.version_info.major}{sys.version_info.minor}-torch{torch.__version__}"


def _runtime_library(folder: Path) -> Path:
    """The folder with libcudart.a, and empty libraries in place of those of PyTorch's CUDA build."""
    from torch.utils.cpp_extension import get_cxx_compiler

    libraries = folder / "libraries"
    if not libraries.exists():
        with tempfile.TemporaryDirectory(dir=folder) as made:
            source, compiled = str(HERE / "runtime.cpp"), f"{made}/runtime.o"
            subprocess.run([get_cxx_compiler(), "-std=c++17", "-O1", "-fPIC", "-c", source, "-o", compiled], check=True)
            for name, members in (("cudart", [compiled]), ("c10_cuda", []), ("torch_cuda", [])):
                subprocess.run(["ar", "rcs", f"{made}/lib{name}.a", *members], check=True)
            shutil.copytree(made, libraries)
    return libraries


class _Unavailable:
    """An extension that cannot be built here; it says so when a function is called."""

    def __init__(self, reason: str):
        self._reason = reason

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*_, **__):
            raise HostCodeError(f"{self._reason}; a machine with a GPU needs none of this")

        return call


class _Extension:
    """The extension's module; its functions run between Host.call, and raise what a launch raised."""

    def __init__(self, module, runtime: _Runtime, names_the_device: bool):
        self._module, self._runtime, self._names_the_device = module, runtime, names_the_device

    def __getattr__(self, name):
        value = getattr(self._module, name)
        if isinstance(value, type) or not callable(value):
            return value

        @functools.wraps(value)
        def call(*args, **kwargs):
            try:
                with self._runtime.host.call([*args, *kwargs.values()]):
                    result = value(*args, **kwargs)
            except RuntimeError as error:
                if self._names_the_device and not self._runtime.error:
                    told = f"{name} asks for a device by its name, and has CPU memory here: {error}"
                    raise HostCodeError(told) from None
                raise
            finally:
                failed, self._runtime.error = self._runtime.error, None
            if failed:
                raise failed
            return result

        return call


_TYPES = {
    "launch": (None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t, *[ctypes.c_int] * 3,
               ctypes.POINTER(ctypes.c_void_p)),
    "allocate": (ctypes.c_uint64, ctypes.c_size_t),
    "release": (None, ctypes.c_uint64),
    "written": (None, ctypes.c_uint64, ctypes.c_size_t),
    "attribute": (ctypes.c_int, ctypes.c_int),
    "symbol": (None, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int),
}  # fmt: skip


class _Runtime:
    """The callbacks of one extension's runtime.cpp. An exception cannot cross C++: the first is kept in ``error``."""

    def __init__(self, library: str, code: list[Compiled], host: Host):
        self.host, self.error = host, None
        self._modules, self._code = code, {entry: one for one in code for entry in one.entries}
        functions = [ctypes.CFUNCTYPE(*kinds)(self._kept(name)) for name, kinds in _TYPES.items()]
        self._table = (ctypes.c_void_p * len(functions))(*(ctypes.cast(f, ctypes.c_void_p).value for f in functions))
        self._functions = functions
        with contextlib.suppress(AttributeError):  # an extension without CUDA code has no runtime
            ctypes.CDLL(library).simulated_cuda_callbacks(self._table)

    def _kept(self, name: str):
        function = getattr(self if name in ("launch", "symbol") else self.host, name)

        def call(*args):
            try:
                return (not self.error and function(*args)) or 0
            except BaseException as error:
                self.error = error
                return 0

        return call

    def launch(self, name, geometry, shared_bytes, shared_limit, large_cluster, overlaps, arguments) -> None:
        kernel = name.decode()
        if kernel not in self._code:
            raise CudaSourceError(f"nvcc kept no PTX of the kernel {kernel}")
        code = self._code[kernel]
        parameters = cubin.read(code.cubin)[kernel].parameters
        values = [ctypes.string_at(arguments[index], p.size) for index, p in enumerate(parameters)]
        grid, block, cluster = (tuple(geometry[i : i + 3]) for i in (0, 3, 6))
        allowed = shared_limit, bool(large_cluster), bool(overlaps)
        self.host.launch(Launch(code, kernel, grid, block, cluster, shared_bytes, values, *allowed))

    def symbol(self, name, offset, address, count, is_written) -> None:
        variable = name.decode()
        declared = re.compile(rf"\.(global|const)\b[^;=]*\b{re.escape(variable)}\b")
        code = next((one for one in self._modules if declared.search(one.ptx)), None)
        if code is not None:  # else no kernel reads it
            self.host.symbol(code, variable, offset, address, count, bool(is_written))
