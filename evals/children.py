"""The processes of agents and gradings: none outlives this one; all end when it is told to (standard library only)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None)
_running: set[subprocess.Popen] = set()
_stopping = threading.Event()
_lock = threading.Lock()


class Stopped(Exception):
    """The process was ended by stop(): what it left says nothing of its own work."""


@contextlib.contextmanager
def running(words: list[str], **keywords) -> Iterator[subprocess.Popen]:
    """A process in a session of its own, which Ctrl-C does not reach; it is ended, with its group, behind the block.

    Raises Stopped behind the block, or instead of it, after stop(), and OSError when it cannot be started.
    """
    with _lock:  # so that stop() sees every process that was started before it
        if _stopping.is_set():
            raise Stopped
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=_die_with_the_caller, **keywords)  # fmt: skip
        _running.add(process)
    try:
        yield process
    finally:
        _end(process)
        _running.discard(process)
        if _stopping.is_set():
            raise Stopped


def stop() -> None:
    """End all that runs; nothing starts any more. Called from another thread than those that wait."""
    with _lock:
        _stopping.set()
    for process in list(_running):
        _end(process)


def _die_with_the_caller() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(process: subprocess.Popen) -> None:
    """End the process group: politely, then not."""
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            break
    with contextlib.suppress(ProcessLookupError):  # children that ignored the first signal
        os.killpg(process.pid, signal.SIGKILL)
