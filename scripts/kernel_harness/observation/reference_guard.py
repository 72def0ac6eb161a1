"""Makes reference_fn raise in the process that runs kernel_fn (standard library only)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..contract import KernelFile


class ReferenceCalled(BaseException):
    """kernel_fn called reference_fn. No Exception: a fallback in the file must not swallow it."""


_code = None  # of the file's reference_fn, where it was replaced


def forbid(file: KernelFile) -> None:
    """Also through names that were bound to the function while the file was imported: its code itself is replaced."""
    global _code
    vars(file.module)["__reference_called__"] = ReferenceCalled
    names: dict = {}
    exec("def reference_fn(*_, **__): raise __reference_called__", names)
    with contextlib.suppress(AttributeError, ValueError):   # no Python function, or one with a closure
        _code = file.reference_fn.__code__
        file.reference_fn.__code__ = names["reference_fn"].__code__
    file.module.reference_fn = _forbidden


@contextlib.contextmanager
def allowed(file: KernelFile) -> Iterator[None]:
    """While get_inputs runs: inputs may be what the reference computes from others."""
    forbidden = getattr(file.reference_fn, "__code__", None)
    if _code is not None:
        file.reference_fn.__code__ = _code
    file.module.reference_fn = file.reference_fn
    try:
        yield
    finally:
        if _code is not None:
            file.reference_fn.__code__ = forbidden
        file.module.reference_fn = _forbidden


def _forbidden(*_args, **_keywords):
    raise ReferenceCalled
