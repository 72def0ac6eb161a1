"""Child processes that run untrusted code under a time limit (standard library only).

Each child is a fresh interpreter, or a fork of one that has imported PyTorch and nothing else (nursery.py), in a
session of its own. It answers one JSON request at a time; every answer carries an authentication code, so that stray
or forged writes to the channel are seen as such. Killing a worker kills every process that it started, also those that
left its session.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import hmac
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from .nursery import Nursery

PR_SET_CHILD_SUBREAPER = 36
MAX_MESSAGE_BYTES = 64 * 2**20
_living: set[int] = set()  # workers of this process that are not closed
# Parts of names that tell a kernel that it is being checked, or that serialise or poison what it does.
BETRAYING = ("PYTEST", "VERIFY", "SANITIZER", "KERNELBENCH", "GITHUB_", "JENKINS", "NO_CUDA_MEMORY_CACHING",
             "LAUNCH_BLOCKING", "PYTHONMALLOC", "PYTHONFAULTHANDLER", "PYTHONDEVMODE", "PYTHONTRACEMALLOC")
# Through stdin rather than a script path: a script would put this package's folder, and its module names, on sys.path;
# and neither the arguments of the process nor its main module say what it is.
BOOTSTRAP = """import sys
sys.path[:] = [{scripts!r}, *filter(None, sys.path)]
sys.meta_path.insert(0, __import__("kernel_harness.processes.neutral").processes.neutral.Finder)
__import__("kernel_harness.processes.child").processes.child.main({scripts!r}, {role!r}, {requests}, {answers})
"""


class WorkerError(Exception):
    """The worker gave no answer. ``log`` is the end of what it printed."""

    def __init__(self, message: str, log: str = ""):
        super().__init__(message)
        self.log = log


class WorkerDied(WorkerError):
    """The process ended during a request; ``returncode`` as in subprocess (negative: killed by that signal)."""

    def __init__(self, message: str, log: str, returncode: int):
        super().__init__(message, log)
        self.returncode = returncode


class WorkerTimeout(WorkerError):
    """No answer within the limit; the whole process tree was killed."""


class WorkerForged(WorkerError):
    """Something that the worker's own code did not write came through the result channel."""


class Worker:
    """One child process in ``role`` (a module of this package with a ``HANDLERS`` table), forked where there is a
    nursery."""

    def __init__(self, role: str, folder: Path, nursery: Nursery | None = None):
        self.role, self.log_file = role, folder / f"{role}-{secrets.token_hex(3)}.log"
        self.key = secrets.token_bytes(32)
        self.alerts: list[str] = []  # what the child reported on the way, out of reach of what ran there afterwards
        requests_read, self.requests = os.pipe()
        self.answers, answers_write = os.pipe()
        try:
            with open(self.log_file, "xb") as log:
                forked = nursery and nursery.fork(role, requests_read, answers_write, log.fileno())
                self.process = forked or _started(role, requests_read, answers_write, log)
        finally:
            os.close(requests_read)
            os.close(answers_write)
        self.alive = True
        _living.add(self.process.pid)
        os.write(self.requests, self.key)

    def send(self, op: str, **arguments) -> None:
        """Post a request without waiting for its answer; receive() says it where the child is no more."""
        if not self.alive:
            return
        message = json.dumps({"op": op, **arguments}).encode()
        with contextlib.suppress(BrokenPipeError):   # a dead child is reported by receive()
            _write_all(self.requests, len(message).to_bytes(8, "big") + message)

    def receive(self, timeout: float) -> dict:
        """The answer to the oldest request. Raises WorkerDied, WorkerTimeout or WorkerForged."""
        deadline = time.monotonic() + timeout
        while "alert" in (answer := self._message(deadline, timeout)):
            self.alerts.append(answer["alert"])
        return answer

    def _message(self, deadline: float, timeout: float) -> dict:
        header = self._read(8 + 32, deadline, timeout)
        size = int.from_bytes(header[:8], "big")
        if size > MAX_MESSAGE_BYTES:
            raise self._forged()
        body = self._read(size, deadline, timeout)
        if not hmac.compare_digest(hmac.digest(self.key, body, hashlib.sha256), header[8:]):
            raise self._forged()
        return json.loads(body)

    def heard(self) -> list[str]:
        """The alerts that nobody has asked for yet."""
        alerts, self.alerts = self.alerts, []
        return alerts

    def call(self, op: str, timeout: float, **arguments) -> dict:
        self.send(op, **arguments)
        return self.receive(timeout)

    def log_tail(self, limit: int = 2000) -> str:
        """The end of what the child printed."""
        with contextlib.suppress(OSError), open(self.log_file, "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - limit))
            return log.read().decode(errors="replace").strip()
        return ""

    def close(self) -> None:
        """Kill the child and everything that it started."""
        if not self.alive:
            return
        self.alive = False
        _living.discard(self.process.pid)
        kill_tree(self.process.pid)
        self.process.wait()
        os.close(self.requests)
        os.close(self.answers)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _read(self, count: int, deadline: float, timeout: float) -> bytes:
        if not self.alive:  # its descriptors may be another worker's by now
            raise WorkerDied("it had ended before it was asked", self.log_tail(), self.process.poll() or 0)
        parts, missing = [], count
        while missing:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.close()
                raise WorkerTimeout(f"no answer within {timeout:g} s", self.log_tail())
            part = os.read(self.answers, min(missing, 2**20))
            if not part:
                raise self._died()
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _died(self) -> WorkerDied:
        # The channel closes a moment before the process is gone; a process that only closed it is killed here.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2)
        returncode = self.process.poll()
        self.close()
        if returncode is None:
            return WorkerDied("it closed the result channel", self.log_tail(), 0)
        if returncode < 0:
            name = signal.Signals(-returncode).name if -returncode in set(signal.Signals) else str(-returncode)
            name += " (the system does so when memory runs out)" if returncode == -signal.SIGKILL else ""
            return WorkerDied(f"it was killed by {name}", self.log_tail(), returncode)
        return WorkerDied(f"it exited with code {returncode}", self.log_tail(), returncode)

    def _forged(self) -> WorkerForged:
        self.close()
        return WorkerForged("the result channel carried bytes that the harness did not write", self.log_tail())


def start_nursery(folder: Path, modules: Sequence[str] = ()) -> Nursery:
    """Starts the process that workers of this one can be forked from; it imports in the meantime."""
    adopt_orphans()
    return Nursery(folder, _interpreter_flags(), _neutral(os.environ), modules)


def _started(role: str, requests: int, answers: int, log: BinaryIO) -> subprocess.Popen:
    program = BOOTSTRAP.format(scripts=str(Path(__file__).resolve().parents[2]), role=role, requests=requests,
                               answers=answers)
    process = subprocess.Popen([sys.executable, *_interpreter_flags(), "-"], stdin=subprocess.PIPE, stdout=log,
                               stderr=log, start_new_session=True, pass_fds=(requests, answers),
                               env=_neutral(os.environ))
    with process.stdin as stdin:
        stdin.write(program.encode())
    return process


def run_tree(command: list[str], timeout: float,
             environment: Mapping[str, str] | None = None) -> tuple[int | None, str]:
    """Exit code and output of a program that starts others; None when it was killed, with all of them, at ``timeout``.

    The output goes to a file: a pipe would stay open for as long as any of the others holds it.
    """
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                   start_new_session=True)
        try:
            returncode = process.wait(timeout)
        except subprocess.TimeoutExpired:
            returncode = None
        finally:
            kill_tree(process.pid)
            process.wait()
        log.seek(0)
        return returncode, log.read().decode(errors="replace")


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent ends, so that kill_tree can find them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_tree(pid: int) -> None:
    """SIGKILL ``pid``, its session, and every descendant; repeated until none is left, for those that fork on."""
    for _ in range(20):
        family = [pid, *descendants(pid), *session_members(pid)]
        for member in set(family):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member, signal.SIGKILL)
        _reap_orphans(family)
        time.sleep(0.005)
        if not descendants(pid) and not session_members(pid):
            return


def spare(pid: int) -> None:
    """Let kill_orphans leave a child of this process alone that is no worker."""
    _living.add(pid)


def kill_orphans() -> int:
    """Kill children of this process that are no workers of it (adopted orphans); returns how many there were."""
    orphans = [child for child, parent, _ in _processes() if parent == os.getpid() and child not in _living]
    for orphan in orphans:
        kill_tree(orphan)
    return len(orphans)


def descendants(pid: int) -> list[int]:
    """Process ids of all children of ``pid``, and theirs, that still run."""
    table = _processes()
    found, frontier = [], {pid}
    while frontier:
        frontier = {child for child, parent, _ in table if parent in frontier and child not in found}
        found += frontier
    return found


def session_members(session: int) -> list[int]:
    """Process ids in a session, its leader left out."""
    return [pid for pid, _, member_of in _processes() if member_of == session and pid != session]


def _processes() -> list[tuple[int, int, int]]:
    """(process id, parent, session) of every running process that is no zombie."""
    rows = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                if fields[0] not in "ZX":
                    rows.append((int(entry), int(fields[1]), int(fields[3])))
    return rows


def _reap_orphans(pids: list[int]) -> None:
    for pid in pids[1:]:   # the first is a child that subprocess reaps itself
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]


def _neutral(environment: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without the variables that a checked run has and a production run has not."""
    return {name: value for name, value in environment.items()
            if name != "CI" and not any(part in name.upper() for part in BETRAYING)}


def _interpreter_flags() -> list[str]:
    """-I, -E and -s as this interpreter was started, so that a child sees the same packages. It needs no -P: BOOTSTRAP
    takes the current folder off sys.path."""
    flags = []
    if sys.flags.isolated:
        return ["-I"]
    if sys.flags.ignore_environment:
        flags.append("-E")
    if sys.flags.no_user_site:
        flags.append("-s")
    return flags
