"""What to verify, and what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..verdict import ExitCode, worst
from .findings import Finding, finding


@dataclass(frozen=True)
class Settings:
    """What to verify and how hard. simulate: None, or arguments of simulation.contexts. resized: cases that are judged
    in place of all others, with these keywords changed. without: names of checks whose findings are dropped (only tests
    use it)."""

    kernel: Path
    reference: Path | None = None
    level: str = "full"
    cases: tuple[str, ...] = ()
    seeds: int | None = None
    rtol: float | None = None
    atol: float | None = None
    timeout: float = 120.0
    simulate: dict | None = None
    resized: dict[str, dict] = field(default_factory=dict)
    without: frozenset[str] = frozenset()


class Stop(Exception):
    """Nothing more can be learned from this file; the findings say why."""


@dataclass
class Outcome:
    """What verification found. ``needs_gpu``: nothing ran, because the file's tensors need a GPU that is not here."""

    settings: Settings
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comparisons: list[dict] = field(default_factory=list)
    facts: dict = field(default_factory=dict)
    needs_gpu: str = ""

    @property
    def verdict(self) -> ExitCode:
        return worst(f.code for f in self.findings)

    def add(self, check: str, seen: str, case: str = "", code: ExitCode | None = None) -> None:
        if check not in self.settings.without:
            new = finding(check, seen, case, code)
            if not any(old.check == check and old.case == case for old in self.findings):
                self.findings.append(new)

    def timed(self, progress: Callable[[str], None]) -> Callable[[str], None]:
        """``progress`` that also keeps when each step began, in seconds since now."""
        start, timeline = time.monotonic(), self.facts.setdefault("timeline", [])

        def step(text: str) -> None:
            timeline.append([round(time.monotonic() - start, 2), text])
            progress(text)

        return step

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def copy(self) -> Outcome:
        """As it is now, whatever is found later."""
        lists = {name: list(getattr(self, name)) for name in ("findings", "notes", "comparisons")}
        return replace(self, facts=dict(self.facts), **lists)

    def join(self, others: Sequence[Outcome], cases: Sequence[str]) -> None:
        """Take in what others found of the same file, in the order of its cases."""
        known = {(old.check, old.case) for old in self.findings}
        for other in others:
            self.findings += [new for new in other.findings if (new.check, new.case) not in known]
            known |= {(new.check, new.case) for new in other.findings}
            self.comparisons += other.comparisons
            for text in other.notes:
                self.note(text)
            smallest = other.facts.get("smallest_bytes")
            if smallest is not None and smallest < self.facts.get("smallest_bytes", smallest + 1):
                self.facts.update({key: other.facts[key] for key in ("smallest_case", "smallest_bytes")})
        place = {case: index for index, case in enumerate(cases)}
        self.findings.sort(key=lambda found: place.get(found.case, len(place)))
        self.comparisons.sort(key=lambda row: place.get(row["case"], len(place)))
