"""Where agents are called and their work is graded: on this machine, or on the machines of a Ray cluster.

A host has ``check(command)``, which raises NoAgent for a command that cannot be one; ``call(command, place, seconds)``,
which runs the agent in ``place`` (prompt.md, workspace/), leaves transcript.txt there and returns the timing document;
``grade(task, place)``, which returns the grading document; and ``stop()``: what runs then ends with Interrupted.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import threading
import time
import zipfile
from pathlib import Path

import children
import tasks as catalogue
import usage

TRANSCRIPT_BYTES = 64 * 2**20
GRADING_RETRIES = 3  # grading changes nothing: a machine that is lost meanwhile costs time only


class NoAgent(Exception):
    """The agent's command cannot be started."""


class Interrupted(Exception):
    """The machine or the process that made a call is gone, or was stopped. The call was made, and counts."""


class ThisMachine:
    """Calls side by side, gradings one after another: no kernel is timed while another is."""

    def __init__(self):
        self._alone = threading.Lock()

    def check(self, command: str) -> None:
        program = _words(command)[0]
        if "/" in program and not os.path.isabs(program) and "{" not in program:
            raise NoAgent(f"the agent cannot be started: each run has its own folder; give {program} its whole path")
        if shutil.which(program) is None and "{" not in program:
            raise NoAgent(f"the agent cannot be started: there is no program {program}; see --agent")

    def call(self, command: str, place: Path, seconds: float) -> dict:
        try:
            return call(command, place, seconds)
        except children.Stopped:
            raise Interrupted("it was stopped") from None

    def grade(self, task: catalogue.Task, place: Path) -> dict:
        with self._alone:
            try:
                return _grade(task.name, place)
            except children.Stopped:
                raise Interrupted("its grading was stopped") from None

    def stop(self) -> None:
        children.stop()


class Cluster:
    """The machines of a Ray cluster, each with the agent's command and the packages of pyproject.toml.

    address: as ``ray.init`` takes it; "local" starts one on this machine. Where the cluster has GPUs, each call and
    each grading has one of its own, so that nothing else runs on it while a kernel is timed. Raises ImportError
    without Ray and ConnectionError when there is no cluster at the address.
    """

    def __init__(self, address: str):
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        ray.init(address, log_to_driver=False, logging_level="ERROR")
        self._ray = ray
        needs = {"num_cpus": 1, "num_gpus": 1 if ray.cluster_resources().get("GPU") else 0,
                 "max_calls": 1}  # fmt: skip  # a process a task: its modules are those of its own copy of the code
        self._code = ray.put(pack(catalogue.ROOT, _code_files()))
        self._call = ray.remote(max_retries=0, **needs)(_elsewhere)  # an agent is never called twice for one call
        self._grade = ray.remote(max_retries=GRADING_RETRIES, **needs)(_elsewhere)
        self._pending = set()

    def check(self, command: str) -> None:
        _words(command)  # whether the program is there, the cluster's machines know

    def call(self, command: str, place: Path, seconds: float) -> dict:
        timing, archive = self._get(self._call.remote(self._code, pack(place), "call", command, seconds))
        unpack(archive, place)
        return timing

    def grade(self, task: catalogue.Task, place: Path) -> dict:
        return self._get(self._grade.remote(self._code, pack(place), "grade", task.name, 0))[0]

    def stop(self) -> None:
        for reference in list(self._pending):
            self._ray.cancel(reference, force=True)

    def _get(self, reference):
        self._pending.add(reference)
        try:
            return self._ray.get(reference)
        except NoAgent:
            raise
        except self._ray.exceptions.RayError as error:
            raise Interrupted(str(error).splitlines()[0]) from None
        finally:
            self._pending.discard(reference)


def _elsewhere(code: bytes, archive: bytes, work: str, what: str, seconds: float) -> tuple[dict, bytes]:
    """A call or a grading on a cluster's machine. Sent by value: that machine need not have this package."""
    import importlib
    import io
    import sys
    import tempfile
    import zipfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="eval-") as folder:
        zipfile.ZipFile(io.BytesIO(code)).extractall(Path(folder, "code"))
        sys.path[:0] = [f"{folder}/code/evals", f"{folder}/code/scripts"]
        return importlib.import_module("hosts").work(archive, work, what, seconds, Path(folder, "place"))


# Pickled with its code rather than as "hosts._elsewhere", a name that only this process knows.
_elsewhere.__module__ = "__main__"


def work(archive: bytes, kind: str, what: str, seconds: float, place: Path) -> tuple[dict, bytes]:
    """Do in ``place`` what a cluster's machine was asked to; the document, and for a call what lies there then."""
    unpack(archive, place)
    if kind == "grade":
        return _grade(what, place), b""
    return call(what, place, seconds), pack(place)


def call(command: str, place: Path, seconds: float) -> dict:
    """Run the agent in place/workspace for at most ``seconds``. Raises NoAgent."""
    names = {"prompt_file": str((place / "prompt.md").resolve()), "workspace": str((place / "workspace").resolve())}
    words = [_fill(word, names) for word in _words(command)]
    started, timed_out = time.monotonic(), False
    transcript = place / "transcript.txt"
    with open(transcript, "wb") as output:
        try:
            with children.running(words, cwd=names["workspace"], stdout=output, stderr=subprocess.STDOUT) as agent:
                try:
                    agent.wait(seconds)
                except subprocess.TimeoutExpired:
                    timed_out = True
        except OSError as error:
            raise NoAgent(f"the agent cannot be started: {error}; see --agent") from None
    elapsed = time.monotonic() - started
    return {"duration_ms": round(1000 * elapsed), "total_duration_seconds": round(elapsed, 3),
            "total_tokens": usage.tokens(transcript, TRANSCRIPT_BYTES), "timed_out": timed_out,
            "exit_code": agent.returncode, "date": time.strftime("%Y-%m-%d")}  # fmt: skip


def pack(folder: Path, names: list[str] | None = None) -> bytes:
    """A zip archive of the regular files below ``folder`` (or of ``names`` there); links stay behind."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names if names is not None else sorted(os.path.relpath(p, folder) for p in folder.rglob("*")):
            path = folder / name
            if path.is_file() and not path.is_symlink() and folder.resolve() in path.resolve().parents:
                archive.write(path, name)
    return buffer.getvalue()


def unpack(archive: bytes, folder: Path) -> None:
    """Write the archive's files into ``folder``; what lay there under other names stays."""
    (folder / "workspace").mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        files.extractall(folder)


def _code_files() -> list[str]:
    """What grading needs: the skill and evals/."""
    from kernel_harness import package

    own = [path for path in catalogue.HERE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return [*map(str, package.contents(catalogue.ROOT)), *(str(path.relative_to(catalogue.ROOT)) for path in own)]


def _grade(name: str, place: Path) -> dict:
    import grade

    return grade.grade(catalogue.load()[name], place / "workspace")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise NoAgent(f"the agent cannot be started: {error.args[0].lower()} in {command}") from None


def _fill(word: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        word = word.replace("{" + name + "}", value)
    return word
