"""Which GPU kernels a call launches, and whose they are: the author's or a library's."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

# Beginnings of kernel names (demangled) that belong to PyTorch and the libraries it calls.
LIBRARY_NAMES = (
    "void at::",
    "at::native",
    "void at_cuda_detail",
    "void cub::",
    "void thrust::",
    "cublas",
    "void cublas",
    "sm80_xmma",
    "sm90_xmma",
    "sm100_xmma",
    "nvjet",
    "cutlass_80",
    "void cutlass::Kernel",
    "void cutlass::device_kernel<at::",
    "_ZN7cutlass13device_kernelIN2at",  # names too long to be demangled
    "_ZN2at",
    "cudnn",
    "void cudnn",
    "void gemv",
    "void gemmk1",
    "void gemmSN",
    "void dot_kernel",
    "void reduce_1Block",
    "void splitKreduce",
    "ampere_",
    "hopper_",
    "volta_",
    "turing_",
    "void flash::",
    "void pytorch_flash::",
    "fmha_",
    "void fft",
    "void vector_fft",
    "void elementwise_kernel",
    "void softmax_warp",
    "void cask",
    "void at::cuda",
    "void (anonymous namespace)::",
    "triton_poi_fused",
    "triton_red_fused",
    "triton_per_fused",
)
MEMORY_NAMES = ("Memcpy", "Memset")
# What is most of the work wherever it is called, by PyTorch's names.
PRODUCTS = frozenset(f"aten::{name}" for name in (
    "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "convolution", "_int_mm", "_scaled_mm",
    "scaled_dot_product_attention"))


def kernels_defined(module: ModuleType) -> list[str]:
    """Names of kernels that the file defines: CuTe DSL and Triton functions, by what they are at run time."""
    names = []
    for name, value in vars(module).items():
        kind = type(value)
        if kind.__module__.startswith("triton.runtime") and kind.__name__ in (
            "JITFunction",
            "InterpretedFunction",
            "Autotuner",
            "Heuristics",
        ):
            names.append(name)
        elif getattr(value, "__module__", None) == module.__name__:
            functions = [value, *vars(value).values()] if isinstance(value, type) else [value]
            if any(_is_dsl_kernel(function) for function in functions):
                names.append(name)
    return names


def of_library(name: str, defined: list[str]) -> bool:
    """Is this kernel PyTorch's, or of a library that it calls? defined: names of the file's own kernels."""
    return name not in defined and name.startswith(LIBRARY_NAMES)


def _is_dsl_kernel(function) -> bool:
    """@cute.kernel and @cute.jit mark what they decorate (nvidia-cutlass-dsl 4.8)."""
    return hasattr(function, "_dsl_cls") or hasattr(function, "_decorator_kind")


def count_kernels(function: Callable, arguments: list, defined: list[str]) -> tuple[object, list[dict]]:
    """Run the call under the profiler; one row a kernel name: launches, microseconds, and whether a library's.

    defined: names of the file's own kernels, which may begin as a library's do (a Triton kernel is called as its
    function is).
    """
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
        result = function(*arguments)
        torch.cuda.synchronize()
    rows: dict[str, dict] = {}
    for event in profiler.events():
        if event.device_type.name != "CUDA" or event.name.startswith(MEMORY_NAMES):
            continue
        library = of_library(event.name, defined)
        row = rows.setdefault(event.name, {"name": event.name[:200], "launches": 0, "us": 0.0, "library": library})
        row["launches"] += 1
        row["us"] += event.device_time
    return result, sorted(rows.values(), key=lambda row: -row["us"])


def products(call: Callable, arguments: list) -> tuple[object, list[str]]:
    """What ``call(*arguments)`` returns, and which PRODUCTS PyTorch computed in it on the CPU."""
    import torch

    if torch.autograd._profiler_enabled():  # by the file
        return call(*arguments), []
    with torch.autograd.profiler.profile(use_kineto=False) as record:
        result = call(*arguments)
    return result, sorted(PRODUCTS & {event.name for event in record.function_events})
