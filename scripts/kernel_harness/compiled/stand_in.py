"""A stand-in for a GPU, in the process that imports it: kernel_fn runs on the CPU up to each launch, which is recorded.

Tensors asked for on a CUDA device are made on the CPU and say that they are on ``cuda:0``; torch.cuda answers as a
device of the target architecture would; what CuTe DSL and Triton compile is kept; and the CUDA entry points of CuTe
DSL's runtime library are replaced, so that the compiled host code really runs: grid, CTA, cluster, shared memory and
the bytes of every kernel parameter are those that a GPU would be given. Nothing is executed on a device: results are
whatever the output's memory held, unless ``on_launch`` fills them in. listen_cute.py and listen_triton.py do
their part once the file has imported cutlass or triton; listen_cuda.py is for CUDA C++ in strings. Imports torch.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
from torch.overrides import TorchFunctionMode

from .. import devices
from .import_hook import after_import

CUDA = torch.device("cuda", 0)
BIG = 1 << 22  # elements: a random tensor beyond this stays unfilled, since a compiler never looks at values
RANDOM = {
    torch.randn,
    torch.rand,
    torch.normal,
    torch.Tensor.normal_,
    torch.Tensor.uniform_,
    torch.randn_like,
    torch.rand_like,
}


@dataclass
class Compiled:
    """One compilation: PTX and cubin as the compiler gave them, and the function that it was asked for."""

    language: str
    function: str
    ptx: str | None
    cubin: bytes | None


@dataclass
class Launch:
    """One launch: parameters are the bytes of each kernel parameter in order; dimensions are (x, y, z)."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    dynamic_shared_bytes: int
    parameters: list[bytes]
    image: bytes | None = None


@dataclass
class Recorder:
    """What was compiled and launched since it was installed. on_launch(launch) is called in place of each launch."""

    arch: str
    compiled: list[Compiled] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    compiling: int = 0
    on_launch: Callable[[Launch], None] | None = None
    keep_alive: list = field(default_factory=list)

    def launch(self, launch: Launch) -> None:
        self.launches.append(launch)
        if self.on_launch:
            self.on_launch(launch)


def install(arch: str) -> Recorder:
    """Stand in for a GPU of ``arch`` from now on, for the whole process."""
    recorder = Recorder(arch)
    _stand_in_for_torch_cuda(arch)
    mode = _OnTheCpu()
    mode.__enter__()
    recorder.keep_alive.append(mode)
    after_import("cutlass", lambda: _listen("listen_cute", recorder))
    after_import("triton", lambda: _listen("listen_triton", recorder))
    _listen("listen_cuda", recorder)
    return recorder


ANSWERS = {
    torch.Tensor.device.__get__: lambda x: CUDA,
    torch.Tensor.is_cuda.__get__: lambda x: True,
    torch.Tensor.is_cpu.__get__: lambda x: False,
    torch.Tensor.get_device: lambda x: 0,
    torch.Tensor.cuda: lambda x, *_, **__: x,
    torch.Tensor.pin_memory: lambda x, *_, **__: x,
    torch.Tensor.is_pinned: lambda x, *_, **__: False,
    torch.Tensor.record_stream: lambda x, *_, **__: None,
    torch.Tensor.__dlpack_device__: lambda x: (2, 0),  # kDLCUDA
}


class _Generator(torch.Generator):
    """For any device name. A class, as others write ``torch.Generator | None`` in annotations."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls, "cpu")


class _OnTheCpu(TorchFunctionMode):
    """CUDA device arguments mean the CPU; every tensor claims to be on cuda:0."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in ANSWERS:
            return ANSWERS[func](*args, **(kwargs or {}))
        if func == torch.Tensor.__dlpack__:
            with torch._C.DisableTorchFunction():
                return forged_capsule(args[0])
        kwargs = {key: _redirected(value) if key == "device" else value for key, value in (kwargs or {}).items()}
        kwargs.pop("pin_memory", None)
        args = tuple(_redirected(value) if isinstance(value, (torch.device, str)) else value for value in args)
        if func in RANDOM and (empty := _unfilled(func, args, kwargs)) is not None:
            return empty
        return func(*args, **kwargs)


def _redirected(device):
    return "cpu" if str(device).partition(":")[0] == "cuda" or isinstance(device, int) else device


def _unfilled(func, args, kwargs):
    """The tensor that a random factory would fill, unfilled, when it is large; None to let the factory run."""
    if args and isinstance(args[0], torch.Tensor):
        if args[0].numel() < BIG:
            return None
        return args[0] if func in (torch.Tensor.normal_, torch.Tensor.uniform_) else torch.empty_like(args[0])
    size = kwargs.get("size", args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args)
    if not all(isinstance(extent, int) for extent in size):
        return None
    count = 1
    for extent in size:
        count *= extent
    allowed = {key: kwargs[key] for key in ("dtype", "device") if key in kwargs}
    return torch.empty(tuple(size), **allowed) if count >= BIG else None


def forged_capsule(tensor: torch.Tensor):
    """A DLPack capsule of a CPU tensor that says the memory is on CUDA device 0."""
    capsule = torch.utils.dlpack.to_dlpack(tensor.detach())
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    # struct DLTensor { void *data; struct { int32_t type, id; } device; ... }
    struct.pack_into("<ii", (ctypes.c_char * 8).from_address(pointer(capsule, b"dltensor") + 8), 0, 2, 0)
    return capsule


def _stand_in_for_torch_cuda(arch: str) -> None:
    capability = devices.capability(arch)
    # The newest listed GPU of this capability, else of its generation, else any: only sizes are asked of it.
    by_likeness = sorted(devices.DEVICES, key=lambda d: (d.capability[0] == capability[0], d.capability == capability))
    model = by_likeness[-1]
    properties = SimpleNamespace(
        name=f"stand-in {model.name}",
        major=capability[0],
        minor=capability[1],
        total_memory=80 << 30,
        warp_size=32,
        multi_processor_count=model.multiprocessors,
        L2_cache_size=model.l2_bytes,
        is_integrated=False,
        max_threads_per_multi_processor=model.threads_per_multiprocessor,
        max_threads_per_block=1024,
        regs_per_multiprocessor=model.registers_per_multiprocessor,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=model.shared_per_block,
        shared_memory_per_multiprocessor=model.shared_per_multiprocessor,
    )

    class Stream:
        """The default stream under every name: there is no device to order work on."""

        cuda_stream, device, device_index, priority = 0, CUDA, 0, 0
        __init__ = __enter__ = lambda self, *_, **__: None
        __exit__ = wait_stream = wait_event = synchronize = lambda self, *_: None
        record_event = lambda self, event=None: event or Event()
        query = lambda self: True

    class Event:
        __init__ = record = wait = synchronize = lambda self, *_, **__: None
        query = lambda self: True
        elapsed_time = lambda self, _: 1.0

    nothing = lambda *_, **__: None
    answers = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": nothing,
        "_lazy_init": nothing,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": nothing,
        "synchronize": nothing,
        "empty_cache": nothing,
        "manual_seed": nothing,
        "manual_seed_all": nothing,
        "is_bf16_supported": lambda *_, **__: True,
        "get_device_capability": lambda *_: capability,
        "get_device_name": lambda *_: properties.name,
        "get_device_properties": lambda *_: properties,
        "is_current_stream_capturing": lambda: False,
        "current_stream": lambda *_: Stream(),
        "default_stream": lambda *_: Stream(),
        "Stream": Stream,
        "Event": Event,
        "device": lambda *_: contextlib.nullcontext(),
        "device_of": lambda *_: contextlib.nullcontext(),
        "stream": lambda *_: contextlib.nullcontext(),
        "get_arch_list": lambda: [arch],
        "memory_allocated": lambda *_: 0,
        "max_memory_allocated": lambda *_: 0,
        "reset_peak_memory_stats": nothing,
        "mem_get_info": lambda *_: (80 << 30, 80 << 30),
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch._C._cuda_getCurrentRawStream = lambda *_: 0
    torch.Generator = _Generator


def _listen(module: str, recorder: Recorder) -> None:
    importlib.import_module(f".{module}", __package__).listen(recorder)
