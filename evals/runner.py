"""Runs of an agent: a clean folder each, a time limit, a transcript, a count of calls (standard library only).

    DIR/calls.jsonl                       a line before each call of the agent: what was started is never forgotten
    DIR/runs/TASK/ARM/N/prompt.md         what the agent is told
    DIR/runs/TASK/ARM/N/workspace/        its folder: the task's files, and the skill in one arm
    DIR/runs/TASK/ARM/N/transcript.txt    what it printed
    DIR/runs/TASK/ARM/N/timing.json       written when the agent has ended
    DIR/runs/TASK/ARM/N/grading.json      written when the run is graded: it is then never touched again
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from hosts import Cluster, Interrupted, ThisMachine
from kernel_harness import package
from tasks import ROOT, Task

WAKE_S = 1.0
SKILL_FOLDERS = (".claude/skills", ".agents/skills")  # where Claude Code, and Codex and Cursor, look


@dataclass(frozen=True)
class Run:
    """One call of the agent: a task, with_skill or without_skill, and its number from 1."""

    task: Task
    arm: str
    number: int

    @property
    def path(self) -> str:
        return f"{self.task.name}/{self.arm}/{self.number}"


@dataclass
class Runner:
    """agent: the command line, with {prompt_file} and {workspace}. max_calls: agent calls in ``folder``, ever; None is
    one for each run, so that a run whose call was interrupted is not made again.

    host: where agents run and are graded (hosts.py). minutes: a limit in place of the task's own.
    """

    agent: str
    folder: Path
    max_calls: int | None
    host: ThisMachine | Cluster
    say: Callable[[str], None] = lambda text: None
    minutes: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run_all(self, runs: list[Run], jobs: int = 1) -> list[Run]:
        """Do what is not done yet; the runs that the limit on calls left out. One process a folder."""
        self.host.check(self.agent)  # before any call is written down: a slip of the pen costs none
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BlockingIOError(f"another run works in {self.folder}; wait, or choose another -o") from None
            with ThreadPoolExecutor(jobs) as pool:
                try:
                    # Gradings come last: they time kernels, and would slow the agents that are timed, too.
                    for step in (self._called, self._graded):
                        done = _results([pool.submit(self._whole, step, run) for run in runs])
                except BaseException:  # Ctrl-C above all: nobody waits for an agent's thirty minutes
                    pool.shutdown(wait=False, cancel_futures=True)
                    self.host.stop()
                    raise
        return [run for run, finished in zip(runs, done, strict=True) if not finished]

    def place(self, run: Run) -> Path:
        return self.folder / "runs" / run.path

    def _whole(self, step: Callable[[Run, Path], bool], run: Run) -> bool:
        try:
            return step(run, self.place(run))
        except Interrupted as reason:
            self.say(f"{run.path}: interrupted: {reason}")
            return False

    def _called(self, run: Run, place: Path) -> bool:
        if (place / "timing.json").exists():
            return True
        if not self._may_call(run):
            self.say(f"{run.path}: not run: its call was interrupted, or all calls were made")
            return False
        self._prepare(run, place)
        limit = 60 * (self.minutes or run.task.minutes)
        self.say(f"{run.path}: the agent starts, {limit / 60:g} minutes")
        write(place / "timing.json", self.host.call(self.agent, place, limit))
        self.say(f"{run.path}: the agent has ended")
        return True

    def _graded(self, run: Run, place: Path) -> bool:
        if (place / "grading.json").exists():
            self.say(f"{run.path}: done before")
            return True
        if not (place / "timing.json").exists():
            return False
        self.say(f"{run.path}: grading")
        document = self.host.grade(run.task, place)
        write(place / "grading.json", document)
        self.say(f"{run.path}: {document['verdict']}")
        return True

    def _may_call(self, run: Run) -> bool:
        """Is a call left? It is written down, on the disk, before it is made: a kill cannot hide it."""
        with self._lock, open(self.folder / "calls.jsonl", "a+", encoding="utf-8") as journal:
            journal.seek(0)
            made = [json.loads(line)["run"] for line in journal]
            if run.path in made if self.max_calls is None else len(made) >= self.max_calls:
                return False
            journal.write(json.dumps({"run": run.path, "started": time.strftime("%Y-%m-%dT%H:%M:%S")}) + "\n")
            journal.flush()
            os.fsync(journal.fileno())
            return True

    def _prepare(self, run: Run, place: Path) -> None:
        """A clean folder: what an interrupted call left there is gone."""
        shutil.rmtree(place, ignore_errors=True)
        workspace = place / "workspace"
        workspace.mkdir(parents=True)
        for fixture in run.task.fixtures:
            target = workspace / fixture.relative_to(run.task.folder / "workspace")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(fixture, target)
        if run.arm == "with_skill":
            for folder in SKILL_FOLDERS:
                for path in package.contents(ROOT):
                    target = workspace / folder / package.NAME / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / path, target)
        (place / "prompt.md").write_text(run.task.prompt + "\n", encoding="utf-8")


def _results(futures: list[Future]) -> list:
    """The results in order; raises what the first to fail raised.

    The wait is one of many short ones: a signal that the kernel gave to a thread of the pool (one that forks at that
    moment takes it) is handled when the main thread runs next, and it would sleep until an agent ends.
    """
    pending = set(futures)
    while pending:
        done, pending = wait(pending, WAKE_S, FIRST_EXCEPTION)
        for future in done:
            future.result()
    return [future.result() for future in futures]


def write(path: Path, document: dict) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
