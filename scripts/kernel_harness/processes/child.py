"""Entry point of every worker process: read requests, call the role's handlers, answer (standard library only).

Worker starts it with the role and two file descriptors. What the process prints goes to its log, not to the judge.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import hmac
import importlib
import inspect
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

from . import bytecode, freed_memory

PR_SET_PDEATHSIG = 1
REUSING = ("oracle",)  # roles whose freed memory need not be as a user's process leaves it
TIMED = ("contender",)  # roles whose threads wait as they do in a user's process


def main(scripts: str, role: str, requests: int, answers: int) -> None:
    """Serve ``role`` on the two descriptors. A handler with a parameter ``alert`` gets a function that reports a text
    to the judge at once; it must not leave it where a kernel file finds it."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)   # none outlives the judge
    os.set_inheritable(requests, False)
    os.set_inheritable(answers, False)
    read, answer = _reader(requests), _answerer(answers, _read_exactly(os.read, requests, 32))
    if role in REUSING:
        freed_memory.keep()
    gc.disable()   # there is no garbage in what PyTorch's import makes, and looking for it takes time
    with bytecode.kept(), contextlib.nullcontext() if role in TIMED else yielding_threads():
        handlers = importlib.import_module(f"kernel_harness.roles.{role}").HANDLERS
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")  # beside kernel files
    sys.dont_write_bytecode = True
    _begin_with_one_thread()
    gc.freeze()    # and what was imported is no garbage later
    gc.enable()
    with contextlib.suppress(ValueError):
        sys.path.remove(scripts)   # the package finds its own modules through its __path__
    sys.path_importer_cache.pop(scripts, None)
    while (message := read()) is not None:
        handler = handlers[message.pop("op")]
        answer(handler(**message, **_alerting(handler, answer)))
    os._exit(0)   # the judge is done: no atexit handler or thread of the kernel file runs on


@contextlib.contextmanager
def yielding_threads() -> Iterator[None]:
    """Around the first import of PyTorch: its OpenMP threads will sleep at a barrier. Those that spin there keep the
    ones that they wait for from running where several processes share the cores: six that sum 2**18 numbers 300 times
    on two cores take 22 to 56 s, and 0.1 to 0.6 s so (results/cpu-2026-11-23-2b36157-side-by-side.json). OpenMP reads
    this once; no kernel file sees it."""
    if "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        yield
    finally:
        del os.environ["OMP_WAIT_POLICY"]


def _begin_with_one_thread() -> None:
    """Of the first exp, log or cosine of a process PyTorch's CPU build gets some elements wrong, by 6e-3 at times, when
    two threads make it: in 6 of 80 processes, in none of 320 that had called exp on one number before
    (results/cpu-2026-11-24-eef8488-first-call.json)."""
    if torch := sys.modules.get("torch"):
        torch.ones(1).exp()


def _alerting(handler: Callable, answer: Callable) -> dict:
    if "alert" not in inspect.signature(handler).parameters:
        return {}
    said = set()

    def alert(text: str) -> None:
        if text not in said:
            said.add(text)
            answer({"alert": text})

    return {"alert": alert}


def _read_exactly(read, descriptor: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = read(descriptor, count - len(data))
        if not part:
            return b""
        data += part
    return data


def _reader(descriptor: int):
    os_read, loads, exactly = os.read, json.loads, _read_exactly

    def read() -> dict | None:
        header = exactly(os_read, descriptor, 8)
        return loads(exactly(os_read, descriptor, int.from_bytes(header, "big"))) if header else None

    return read


def _answerer(descriptor: int, key: bytes):
    # Bound before any kernel file is imported: a later patch of os.write or json.dumps does not reach these.
    write, digest, sha256 = os.write, hmac.digest, hashlib.sha256
    encode, one_at_a_time = json.JSONEncoder().encode, threading.RLock()

    def answer(document: dict) -> None:
        body = encode(document).encode()
        view = memoryview(len(body).to_bytes(8, "big") + digest(key, body, sha256) + body)
        with one_at_a_time:
            while view:
                view = view[write(descriptor, view):]

    return answer
