"""Which code a call runs: the author's functions, whose result is returned, native extensions, DSL launches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

DSL_FILES = ("/nvidia_cutlass_dsl/", "/triton/runtime/jit.py", "/triton/runtime/autotuner.py", "/cuda/tile/")
NATIVE_IGNORED = ("torch", "numpy", "_")


def trace_call(function: Callable, arguments: list, path: Path) -> tuple[object, dict]:
    """Call ``function(*arguments)``; returns (result, facts).

    facts: ``returns`` the author's functions (``name:line``) whose return value is the result itself; ``native`` the
    extension modules outside torch that were called; ``dsl`` the kernel language that was launched, or None.
    """
    file = str(path)
    returned: list[tuple[str, object]] = []
    native: set[str] = set()
    dsl: list[str] = []

    def watch(frame, event, argument):
        if event == "return" and frame.f_code.co_filename == file:
            returned.append((f"{frame.f_code.co_name}:{frame.f_code.co_firstlineno}", argument))
        elif event == "call" and not dsl:
            name = frame.f_code.co_filename
            if any(part in name for part in DSL_FILES):
                dsl.append("Triton" if "/triton/" in name else "CuTe DSL")
        elif event == "c_call":
            module = getattr(argument, "__module__", None) or type(getattr(argument, "__self__", None)).__module__ or ""
            if module.startswith("tvm_ffi") and not dsl:
                dsl.append("TVM FFI")
            elif not module.startswith(NATIVE_IGNORED) and module.partition(".")[0] not in sys.stdlib_module_names:
                native.add(module)

    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        result = function(*arguments)
    finally:
        sys.setprofile(previous)
    returns = sorted({name for name, value in returned if value is result and value is not None})
    return result, {"returns": returns, "native": sorted(native), "dsl": dsl[0] if dsl else None}
