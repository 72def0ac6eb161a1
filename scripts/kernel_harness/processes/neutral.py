"""Makes a worker look like any Python process to the kernel file's own code (standard library only).

A kernel that recognises its checker can be right for the checker alone. So a worker's program comes through stdin, its
code carries the file name of such a program, and while the kernel file's code runs this package is neither in
``sys.modules`` nor on ``sys.path``. What cannot be hidden (frames, other processes) is watched: audit.py.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import sys
from collections.abc import Callable, Iterator
from types import CodeType

FILE = "<stdin>"  # what Python calls a program that it reads from stdin
PACKAGE = __package__.partition(".")[0]
SCRIPTS = ("train.py", "serve.py", "bench.py", "main.py")  # of a user, by whom a kernel is called as a rule
_CALL = """
def step(function, arguments):
    return function(*arguments)

def main(function, arguments):
    return step(function, arguments)
"""


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        return _renamed(super().get_code(fullname))


class Finder:
    """Import hook for the modules of this package: no path of theirs is in a traceback or a stack."""

    @staticmethod
    def find_spec(name: str, path=None, target=None):
        if name.partition(".")[0] != PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def _renamed(code: CodeType) -> CodeType:
    constants = tuple(_renamed(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=FILE, co_consts=constants)


def _calls_from(path: str) -> Callable:
    """``call(function, arguments)`` whose frames are those of the file at ``path``: a name of one comes without any
    audit event, in a warning or a log record."""
    names = {"__name__": "__main__"}
    exec(compile(_CALL, path, "exec"), names)
    return names["main"]


# (script that calls, how); an odd number, so that each meets both of two sets of values in turn
CALLERS: tuple[tuple[str, Callable], ...] = (
    ("", _calls_from(FILE)),
    *((script, _calls_from(f"/home/user/project/{script}")) for script in SCRIPTS),
)


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """Around the kernel file's own code. Functions of this package still run; they import nothing of it meanwhile."""
    ours = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    modules, hooks = {name: sys.modules.pop(name) for name in ours}, [h for h in sys.meta_path if h is Finder]
    for hook in hooks:
        sys.meta_path.remove(hook)
    try:
        yield
    finally:
        sys.modules.update(modules)
        sys.meta_path[:0] = hooks


def mute_signal_handlers() -> None:
    """From now on a Python signal handler gets None for the frame that it interrupts: that frame may be the harness's.

    No audit event announces a handler, and none is needed to walk from the frame that it is handed.
    """
    import _signal

    install, muted, originals = _signal.signal, {}, {}

    def mute(handler):
        def handle(number, _frame):
            handler(number, None)

        originals[handle] = handler
        return handle

    def signal(number, handler):
        if callable(handler) and handler is not _signal.default_int_handler and handler not in originals:
            handler = muted.setdefault(handler, mute(handler))
        before = install(number, handler)
        return originals.get(before, before) if callable(before) else before

    _signal.signal = signal
