"""Makes reference_fn raise in the process that runs kernel_fn (standard library only)."""

from __future__ import annotations

import contextlib

from .contract import KernelFile


class ReferenceCalled(BaseException):
    """kernel_fn called reference_fn. No Exception: a fallback in the file must not swallow it."""


def forbid(file: KernelFile) -> None:
    """Also through names that were bound to the function while the file was imported: its code itself is replaced."""
    vars(file.module)["__reference_called__"] = ReferenceCalled
    names: dict = {}
    exec("def reference_fn(*_, **__): raise __reference_called__", names)
    with contextlib.suppress(AttributeError, ValueError):   # no Python function, or one with a closure
        file.reference_fn.__code__ = names["reference_fn"].__code__
    file.module.reference_fn = _forbidden


def _forbidden(*_args, **_keywords):
    raise ReferenceCalled
