"""The judge of tune_kernel.py: compiles configurations in parallel, verifies each, races the rest (stdlib only).

A configuration stays in the process that compiled it. Those processes take turns on the GPU: every round times every
configuration that is still in the race, and one that cannot win any more is dropped.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import environment
from ..cli import UsageError, no_such_case
from ..contract import ContractError
from ..verdict import ExitCode
from . import statistics
from .arena import Arena, Contender, Stopped
from .benchmark import memory_folder
from .tuning_journal import Journal, Progress, text_of

EARLY_ROUNDS, HOPELESS = 3, 1.25   # after three rounds a configuration this far behind the best is out
SURE_ROUNDS, MOST_ROUNDS = 9, 24
DEADLY = ("CUDA error", "illegal", "unspecified launch failure", "misaligned address")


@dataclass(frozen=True)
class Settings:
    """What to tune. jobs: processes that compile; budget_s: of racing for each case; journal: where steps are kept;
    only: configurations that have one of these in their text, and the file as it stands."""

    file: Path
    cases: Sequence[str] = ()
    budget_s: float = 30.0
    jobs: int = 4
    timeout_s: float = 300.0
    method: str | None = None
    journal: Path | None = None
    only: Sequence[str] = ()


def run(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> dict:
    """The document of a tuning run: for each case its configurations, the winner, and the text to paste."""
    with tempfile.TemporaryDirectory(prefix="tuning-", dir=memory_folder()) as folder:
        arena = Arena(settings.file, (), Path(folder), settings.timeout_s, settings.method)
        try:
            loaded = arena.open()
            arena.ready(arena.kernel)
            space = arena.tell(arena.kernel, "space")["space"]
            if not space:
                raise ContractError(no_space(settings.file))
            names, known = settings.cases or loaded["bench_cases"], loaded["bench_cases"]
            # Says so where a GPU is needed, and there is none: then a case may be one of TEST_CASES.
            arena.draw(next((name for name in names if name in known), known[0]))
            if unknown := [name for name in names if name not in known]:
                raise no_such_case(unknown[0], settings.file, known)
            path = (settings.journal or settings.file.with_suffix(".tuning.jsonl")).expanduser()
            journal = Journal(path, _identity(loaded["sha256"], settings.method))
            tuner = _Tuner(settings, arena, journal, loaded["tolerance"], progress)
            cases = [tuner.case(name, space) for name in names]
            return {"kernel": {"file": str(settings.file), "sha256": loaded["sha256"]}, "cases": cases,
                    "journal": str(path), "resumed_steps": journal.resumed, "snippet": snippet(cases)}
        finally:
            arena.close()


def no_space(file: Path) -> str:
    return f"{file} defines no TUNING_SPACE: give it {{name of a kernel_fn keyword: [values to try]}}"


def _identity(sha256: str, method: str | None) -> dict[str, str]:
    facts = environment.describe()
    gpu = (facts["gpu"] or {}).get("name", facts["cpu"])
    versions = f"{facts['torch']} {facts['triton']} {facts['nvidia_cutlass_dsl']}"
    return {"kernel": sha256, "device": gpu, "versions": hashlib.sha256(versions.encode()).hexdigest()[:12],
            "method": method or "the best clock"}  # times of two clocks make no median


def configurations(space: Mapping[str, Sequence], only: Sequence[str] = ()) -> list[dict]:
    """The file's own defaults first, then every combination of the space, or those that ``only`` names."""
    every = [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]
    chosen = [config for config in every if not only or any(text in text_of(config) for text in only)]
    if not chosen:
        first = text_of(every[0]) if every else "there is none at all"
        raise UsageError(f"--only {' --only '.join(only)}: no configuration has that in its text, such as {first}")
    return [{}, *chosen]


class _Tuner:
    def __init__(self, settings: Settings, arena: Arena, journal: Journal, tolerance: dict | None, progress):
        self.settings, self.arena, self.journal = settings, arena, journal
        self.tolerance, self.progress = tolerance, progress
        self.home: dict[str, Contender] = {}   # where a configuration runs
        self.compiled: dict[str, object] = {}   # the worker that holds it compiled; a restart makes a new one
        self.racing: list[Progress] = []   # in the case under way

    def case(self, name: str, space: Mapping[str, Sequence]) -> dict:
        """Compile, verify and race one case; what is in the journal is not done again."""
        known = [self.journal.of(name, config) for config in configurations(space, self.settings.only)]
        if self.settings.only or not self.journal.is_finished(name, self.settings.budget_s):
            self.racing = [progress for progress in known if progress.failure is None and progress.dropped is None]
            self._staff(name)
            self._compile(name)
            self._verify(name)
            self._race(name)
            if not self.settings.only:
                self.journal.finish(name, self.settings.budget_s)
        return _case_document(name, known)

    def _staff(self, name: str) -> None:
        """As many processes as there is work for; each draws the inputs of the case."""
        jobs = max(1, min(self.settings.jobs, len(self.racing), os.cpu_count() or 1))
        while len(self.arena.contenders) < jobs:
            self.arena.add(f"process {len(self.arena.contenders) + 1}")
        for contender in self.arena.contenders:
            self._enter(name, contender)

    def _enter(self, name: str, contender: Contender) -> None:
        """Inputs of the case, and first calls on them with the first configuration that takes them."""
        for progress in self.racing:
            if progress.failure is None:
                drawn = {"case": name, "seed": secrets.randbits(40), "budget_s": self.settings.budget_s}
                try:
                    contender.facts = self.arena.tell(contender, "enter", config=progress.config, **drawn)
                    return
                except Stopped as stop:
                    if stop.code is ExitCode.CONTRACT:  # get_inputs fails, whatever the configuration
                        raise
                    if self._note_failure(name, contender, progress, str(stop)):
                        self.arena.restart(contender)

    def _compile(self, name: str) -> None:
        """First calls, one configuration at a time in each process, all processes at once."""
        queues = {index: self.racing[index::len(self.arena.contenders)] for index in range(len(self.arena.contenders))}
        for step in range(max(map(len, queues.values()), default=0)):
            sent = []
            for index, contender in enumerate(self.arena.contenders):
                if step < len(queues[index]) and queues[index][step].failure is None:
                    progress = queues[index][step]
                    contender.worker.send("configure", config=progress.config, call=True)
                    sent.append((contender, progress))
            for contender, progress in sent:
                self.progress(f"case {name}: compiling {text_of(progress.config)}")
                self.home[text_of(progress.config)] = contender
                answer = self._heard(name, contender, progress)
                self.compiled[text_of(progress.config)] = contender.worker
                if answer is not None and progress.first_call_s is None:
                    self.journal.note(name, progress.config, first_call_s=answer["first_call_s"])

    def _heard(self, name: str, contender: Contender, progress: Progress) -> dict | None:
        """The answer, or None with the failure in the journal and, where it needs one, a new process."""
        try:
            return self.arena.hear(contender)
        except (Stopped, ContractError) as error:
            if self._note_failure(name, contender, progress, str(error)):
                self.arena.restart(contender)
                self._enter(name, contender)
            return None

    def _note_failure(self, name: str, contender: Contender, progress: Progress, said: str) -> bool:
        """Keep why a configuration is out; whether its process can do no more."""
        sentence = said.partition("\n")[0].removeprefix(f"{contender.name}: ")[:300]
        self.journal.note(name, progress.config, failure=sentence)
        contender.lost = None
        return not contender.worker.alive or any(word in sentence for word in DEADLY)

    def _tell(self, name: str, progress: Progress, **arguments) -> dict | None:
        text = text_of(progress.config)
        contender = self.home[text]
        is_new = self.compiled[text] is not contender.worker
        contender.worker.send("configure", config=progress.config, call=is_new)
        if self._heard(name, contender, progress) is None:
            return None
        self.compiled[text] = contender.worker
        contender.worker.send("burst", **arguments)
        return self._heard(name, contender, progress)

    def _verify(self, name: str) -> None:
        """One burst each on the same unseen inputs, compared in full with the reference."""
        arena = self.arena
        waiting = [progress for progress in self.racing if not progress.verified and progress.failure is None]
        if not waiting:
            return
        fresh = arena.draw(name, arena.draw(name))
        reference = arena.ask(arena.oracle, "reference", bundle=fresh, folder=str(arena.folder),
                              name=Path(arena.new_file()).name)
        for progress in waiting:
            self.progress(f"case {name}: verifying {text_of(progress.config)}")
            kept = arena.new_file()
            answer = self._tell(name, progress, ambush=0, seed=0, fresh=fresh, keep=kept)
            if answer is None:
                continue
            verdict = {"wrong": f"it returns {', '.join(answer['lazy'])} instead of torch.Tensor"}
            if "kept" in answer:
                verdict = arena.ask(arena.referee, "judge", kept=answer["kept"], inputs=fresh, reference=reference,
                                    tolerance=self.tolerance)
            with contextlib.suppress(OSError):
                Path(kept).unlink()
            if verdict["wrong"]:
                self.journal.note(name, progress.config, failure=f"wrong: {verdict['wrong']}")
            else:
                self.journal.note(name, progress.config, verified=True)

    def _race(self, name: str) -> None:
        deadline = time.monotonic() + self.settings.budget_s
        for number in range(MOST_ROUNDS):
            left = [p for p in self.racing if p.failure is None and p.dropped is None]
            field = [p for p in left if len(p.rounds_us) < MOST_ROUNDS]
            if not field or (len(field) == 1 and len(field[0].rounds_us) >= EARLY_ROUNDS):
                return
            behind = min(len(progress.rounds_us) for progress in field)
            for progress in field[::-1] if number % 2 else field:
                if len(progress.rounds_us) > behind:
                    continue   # the run that was killed had already timed it in this round
                self.progress(f"case {name}: round {behind + 1}, {len(field)} configurations")
                answer = self._tell(name, progress, ambush=secrets.randbits(16), seed=secrets.randbits(40))
                if answer is not None:
                    self.journal.note(name, progress.config, round_us=statistics.median(answer["device_us"]))
            self._drop(name, field)
            if behind + 1 >= EARLY_ROUNDS and time.monotonic() > deadline:
                return

    def _drop(self, name: str, field: list[Progress]) -> None:
        """Early stopping: a configuration that is far behind, or surely slower than the best, leaves the race."""
        field = [progress for progress in field if progress.failure is None and progress.rounds_us]
        best = min(field, key=lambda progress: statistics.median(progress.rounds_us), default=None)
        for progress in field:
            count = min(len(progress.rounds_us), len(best.rounds_us))
            if progress is best or count < EARLY_ROUNDS:
                continue
            ratio = statistics.paired_ratio(progress.rounds_us[:count], best.rounds_us[:count])
            if ratio.low > HOPELESS or (count >= SURE_ROUNDS and ratio.low > 1):
                sentence = f"{ratio.estimate:.3f} times the best after {count} rounds"
                self.journal.note(name, progress.config, dropped=sentence)


def _case_document(name: str, known: list[Progress]) -> dict:
    timed = sorted((p for p in known if p.rounds_us and p.failure is None),
                   key=lambda progress: statistics.median(progress.rounds_us))
    rows = [{"config": p.config, "us": statistics.median(p.rounds_us), "rounds": len(p.rounds_us),
             "first_call_s": p.first_call_s, "state": _state(p, timed[0])} for p in timed]
    failed = [{"config": p.config, "failure": p.failure} for p in known if p.failure is not None]
    own = next((row for row in rows if not row["config"]), None)
    return {"name": name, "configurations": rows, "failed": failed,
            "winner": rows[0]["config"] if rows else None, "us": rows[0]["us"] if rows else None,
            "over_file": own["us"] / rows[0]["us"] if rows and own else None}


def _state(progress: Progress, best: Progress) -> str:
    if progress is best:
        return "winner"
    ratio = statistics.median(progress.rounds_us) / statistics.median(best.rounds_us)
    return f"dropped: {progress.dropped}" if progress.dropped else f"{ratio:.3f} times the winner"


def snippet(cases: Sequence[Mapping]) -> str:
    """Python text with the winner of each case, to paste into the kernel file."""
    lines = [f"    {case['name']!r}: {case['winner']!r},   # {case['us']:.2f} us" for case in cases
             if case["winner"] is not None]
    return "\n".join(["TUNED = {", *lines, "}"]) if lines else ""
