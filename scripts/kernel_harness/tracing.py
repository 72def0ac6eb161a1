"""Which code a call runs: the author's functions, whose result is returned, native extensions, DSL launches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

DSL_FILES = ("/nvidia_cutlass_dsl/", "/triton/runtime/jit.py", "/triton/runtime/autotuner.py", "/cuda/tile/")
DSL_PACKAGES = ("/nvidia_cutlass_dsl/", "/triton/", "/cuda/tile/", "/tvm_ffi/")
NATIVE_IGNORED = ("torch", "numpy", "_")
LIBRARIES = {*sys.stdlib_module_names, "triton", "cutlass", "nvidia_cutlass_dsl", "cuda"}   # nobody's own native code


def trace_call(function: Callable, arguments: list, path: Path) -> tuple[object, dict]:
    """Call ``function(*arguments)``; returns (result, facts).

    facts: ``returns`` the author's functions (``name:line``) whose return value is the result itself; ``native`` the
    extension modules outside torch that were called; ``dsl`` the kernel language that was launched, or None. Kernels
    that PyTorch launches itself (torch._native, inductor) are PyTorch's.
    """
    file = str(path)
    torch_folder = str(Path(sys.modules["torch"].__file__).parent) + os.sep if "torch" in sys.modules else "\0"
    returned: list[tuple[str, object]] = []
    native: set[str] = set()
    dsl: list[str] = []

    def watch(frame, event, argument):
        if event == "return" and frame.f_code.co_filename == file:
            returned.append((f"{frame.f_code.co_name}:{frame.f_code.co_firstlineno}", argument))
        elif event == "call" and not dsl:
            name = frame.f_code.co_filename
            if any(part in name for part in DSL_FILES) and not _is_called_from(torch_folder, frame):
                dsl.append("Triton" if "/triton/" in name else "CuTe DSL")
        elif event == "c_call":
            module = _module_of(argument)
            if module.startswith("tvm_ffi"):
                if not dsl and not _is_called_from(torch_folder, frame):
                    dsl.append("TVM FFI")
            elif not module.startswith(NATIVE_IGNORED) and module.partition(".")[0] not in LIBRARIES:
                native.add(module)

    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        result = function(*arguments)
    finally:
        sys.setprofile(previous)
    returns = sorted({name for name, value in returned if value is result and value is not None})
    return result, {"returns": returns, "native": sorted(native), "dsl": dsl[0] if dsl else None}


def _module_of(function) -> str:
    """The module that defines a C function; for a method without one, that of the class which defines it: list's
    append is Python's own on an instance of a subclass, too (SymPy, which autograd imports late, has such classes)."""
    owners = type(getattr(function, "__self__", None)).__mro__
    defining = (kind for kind in owners if function.__name__ in vars(kind))
    return getattr(function, "__module__", None) or next(defining, owners[0]).__module__ or ""


def _is_called_from(folder: str, frame) -> bool:
    """Is the nearest caller outside the kernel languages' own packages in ``folder``?"""
    while frame is not None and any(part in frame.f_code.co_filename for part in DSL_PACKAGES):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(folder)
