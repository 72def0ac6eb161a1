"""A process that imports once what every worker needs, and forks workers (standard library only).

Ten processes that import PyTorch at the same time take as long as one only where there are ten idle cores. The nursery
never sees a kernel file: a worker that it forks is as fresh as one that was started, but for what PyTorch's import made
(the hash seed and where libraries lie in memory are the same in all; random numbers are not). It makes no CUDA context:
none survives a fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

from . import bytecode
from .child import yielding_threads

START_SECONDS = 120  # in which its imports must be over
MESSAGE_BYTES = 4096
# As that of a worker (worker.py): nothing in the process says what it is.
BOOTSTRAP = """import sys
sys.path[:] = [{scripts!r}, *filter(None, sys.path)]
sys.meta_path.insert(0, __import__("kernel_harness.processes.neutral").processes.neutral.Finder)
__import__("kernel_harness.processes.nursery").processes.nursery.serve({scripts!r}, {folder!r}, {modules!r}, {channel})
"""


class Nursery:
    """The judge's side. ``folder``: of the verification. ``modules``: what is imported beside the roles' own, such as
    ``cutlass.cute``."""

    def __init__(self, folder: Path, flags: Sequence[str], environment: dict[str, str], modules: Sequence[str] = ()):
        self.one_at_a_time = threading.Lock()
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.settimeout(START_SECONDS)
        program = BOOTSTRAP.format(scripts=str(Path(__file__).resolve().parents[2]), folder=str(folder),
                                   modules=list(modules), channel=theirs.fileno())
        with theirs, open(folder / "nursery.log", "xb") as log:
            self.process = subprocess.Popen([sys.executable, *flags, "-"], stdin=subprocess.PIPE, stdout=log,
                                            stderr=log, start_new_session=True, pass_fds=(theirs.fileno(),),
                                            env=environment)
            with self.process.stdin as stdin:
                stdin.write(program.encode())

    def fork(self, role: str, requests: int, answers: int, log: int) -> Forked | None:
        """A worker in ``role`` that prints to ``log``, once the imports are over; None where they take too long or
        have ended the nursery: a worker that imports by itself will meet the same, and its log tells.

        It is a child of this process, which must have called ``adopt_orphans``.
        """
        with self.one_at_a_time:
            with contextlib.suppress(OSError):
                socket.send_fds(self.channel, [role.encode()], [requests, answers, log])
                if answer := self.channel.recv(MESSAGE_BYTES):
                    return Forked(json.loads(answer)["pid"])
            self.close()  # a late worker would read the requests of the one that takes its place
            return None

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.channel.close()  # the last: at its end a nursery that lives removes the folder


class Forked:
    """A child that this process has adopted, as far as a ``subprocess.Popen`` is needed for it."""

    def __init__(self, pid: int):
        self.pid, self.returncode = pid, None
        self.one_at_a_time = threading.Lock()

    def poll(self) -> int | None:
        with self.one_at_a_time:
            if self.returncode is None:
                try:
                    ended, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:  # reaped with other orphans, after it was killed
                    self.returncode = -signal.SIGKILL
                else:
                    self.returncode = os.waitstatus_to_exitcode(status) if ended else None
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(self.pid)
                try:
                    select.select([descriptor], [], [], timeout)
                finally:
                    os.close(descriptor)
            if self.poll() is None:
                raise subprocess.TimeoutExpired("worker", timeout)
        return self.returncode


def serve(scripts: str, folder: str, modules: Sequence[str], channel: int) -> None:
    """The nursery's own side: import, then fork a worker for each message, until the judge is gone. One that ended as
    it should has ended this process first: one that was killed left its folder, gigabytes of memory at times."""
    gc.disable()  # as in child.py
    with bytecode.kept(), yielding_threads():
        for name in ("kernel_harness.roles.candidate", "kernel_harness.roles.oracle", *modules):
            with contextlib.suppress(ImportError):  # the kernel file's own import says it better
                importlib.import_module(name)
    gc.freeze()
    with socket.socket(fileno=channel) as judge, contextlib.suppress(ConnectionError):
        while True:
            message, descriptors, _, _ = socket.recv_fds(judge, MESSAGE_BYTES, 3)
            if not message:
                break
            judge.send(json.dumps({"pid": _fork_away(scripts, message.decode(), descriptors, judge)}).encode())
            for descriptor in descriptors:
                os.close(descriptor)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _fork_away(scripts: str, role: str, descriptors: Sequence[int], judge: socket.socket) -> int:
    """The process id of a worker that is nobody's child: whoever adopts orphans, the judge, becomes its parent."""
    pids, names = os.pipe()
    held, release = os.pipe()
    between = os.fork()
    if between == 0:
        worker = os.fork()
        if worker:
            os.write(names, worker.to_bytes(8, "big"))
            os._exit(0)
        try:
            for descriptor in (pids, names, release, judge.detach()):
                os.close(descriptor)
            # Until its parent is the judge: child.py asks to die with its parent. Nothing is read if the nursery dies.
            if os.read(held, 1):
                os.close(held)
                _become(scripts, role, *descriptors)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(1)
    os.waitpid(between, 0)
    pid = int.from_bytes(os.read(pids, 8), "big")
    os.write(release, b"1")
    for descriptor in (pids, names, held, release):
        os.close(descriptor)
    return pid


def _become(scripts: str, role: str, requests: int, answers: int, log: int) -> None:
    os.setsid()
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # Python's own generator is seeded anew in a fork, NumPy's is not
    importlib.import_module("kernel_harness.processes.child").main(scripts, role, requests, answers)
