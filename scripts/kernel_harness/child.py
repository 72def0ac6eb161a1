"""Entry point of every worker process: read requests, call the role's handlers, answer (standard library only).

Worker starts it with the role and two file descriptors. What the process prints goes to its log, not to the judge.
"""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import importlib
import json
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(role: str, requests: int, answers: int) -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)   # none outlives the judge
    os.set_inheritable(requests, False)
    os.set_inheritable(answers, False)
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.dont_write_bytecode = True
    # The benchmark and the verifier start the same program with the same arguments: nothing here tells them apart.
    sys.argv = [role]
    read, answer = _reader(requests), _answerer(answers, _read_exactly(os.read, requests, 32))
    handlers = importlib.import_module(f"kernel_harness.{role}").HANDLERS
    while (message := read()) is not None:
        answer(handlers[message.pop("op")](**message))
    os._exit(0)   # the judge is done: no atexit handler or thread of the kernel file runs on


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
    encode = json.JSONEncoder().encode

    def answer(document: dict) -> None:
        body = encode(document).encode()
        view = memoryview(len(body).to_bytes(8, "big") + digest(key, body, sha256) + body)
        while view:
            view = view[write(descriptor, view):]

    return answer
