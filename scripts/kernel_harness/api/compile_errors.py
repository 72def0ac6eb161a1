"""Exceptions that are the compiler's word on the author's code, and what to write for a name that is gone."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

_HARNESS = str(Path(__file__).parents[1])
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# How Python says that a name is not there, as (module, name) or (module,).
_MISSING = (
    re.compile(r"module '(cutlass[\w.]*)' has no attribute '(\w+)'"),
    re.compile(r"cannot import name '(\w+)' from '(cutlass[\w.]*)'"),
    re.compile(r"No module named '(cutlass[\w.]*)'"),
)
_UNDECORATED = "range_constexpr should be preprocessed"
# What a fault of a launch is reported as, by PyTorch at its next call and by Triton's launcher at the next launch.
_FAULT = re.compile(r"CUDA error: |Triton Error \[CUDA\]: (an illegal|unspecified launch|misaligned|device-side)")


def plain(text: str) -> str:
    """Without the colours that the DSL gives its errors wherever they go, to a file, too."""
    return _COLOUR.sub("", text)


def is_compiling(error: BaseException) -> bool:
    """Whether the DSL, Triton or nvcc raised ``error`` about the code that it was given; not what a launch raises."""
    kinds = type(error).__mro__
    if any(kind.__name__ == "DSLCudaRuntimeError" for kind in kinds) or _FAULT.search(str(error)):
        return False
    if any(
        kind.__module__.startswith(("cutlass", "triton.compiler")) or kind.__name__ == "CudaSourceError"
        for kind in kinds
    ):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    if frames and frames[-1].filename.startswith(_HARNESS):  # a stand-in's or the simulator's own word
        return False
    package = str(Path(getattr(sys.modules.get("cutlass"), "__file__", None) or "/none/").parent)
    return any(
        (frame.filename.startswith(f"{package}/") and frame.name in ("_compile", "_func", "generate_mlir"))
        or "/triton/compiler/" in frame.filename
        or "/triton/runtime/jit" in frame.filename
        for frame in frames
    ) or bool(frames and frames[-1].filename.startswith(f"{package}/cute/"))  # a check of the DSL's host-side API


def advice(text: str) -> str:
    """What to write instead of the missing cutlass name that ``text`` complains of, or what is missing where it calls
    the author's mistake the DSL's; "" for other text."""
    if _UNDECORATED in text:
        return "The function with this loop is called from a kernel and is no @cute.jit: decorate it; no bug of the DSL"
    name = _missing(text)
    if not name:
        return ""
    from . import api_index

    short, known = api_index.shorten(name), api_index.changes_of(name)
    if known:
        return "; ".join(api_index.change_sentence(change) for change in known[:2])
    try:
        near = api_index.load().near(name, 3)
    except api_index.ApiIndexError:
        near = []
    similar = f"similar names: {', '.join(near)}; " if near else ""
    return f"{similar}python scripts/lookup_api.py {short} searches the installed wheel"


def _missing(text: str) -> str:
    attribute, imported, module = (pattern.search(text) for pattern in _MISSING)
    if attribute:
        return f"{attribute[1]}.{attribute[2]}"
    if imported:
        return f"{imported[2]}.{imported[1]}"
    return module[1] if module else ""
