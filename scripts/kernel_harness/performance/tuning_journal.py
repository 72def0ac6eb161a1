"""What a tuning run has found out so far, on disk after every step (standard library only).

One JSON object a line, appended and synced: a run that is killed at any moment loses at most the step it was in, and
the next run continues behind the last whole line. A record holds only for the kernel file, GPU and packages it names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..cli import UsageError

START = b'{"identity": '  # of each line


@dataclass
class Progress:
    """What is known of one configuration in one case."""

    config: dict
    failure: str | None = None
    verified: bool = False
    dropped: str | None = None
    rounds_us: list[float] = field(default_factory=list)
    first_call_s: float | None = None


class Journal:
    """The journal file of one kernel; ``identity`` is what a record depends on besides case and configuration."""

    def __init__(self, path: Path, identity: Mapping[str, str]):
        self.path, self.identity = path, dict(identity)
        self._known: dict[tuple[str, str], Progress] = {}
        self._finished: dict[str, float] = {}  # seconds of racing that each case was given
        self.resumed = 0
        try:
            self._file = open(path, "a+b")   # noqa: SIM115, open for as long as the journal lives
        except OSError as error:
            raise UsageError(f"the journal {path} cannot be written: {error.strerror}") from None
        self._take_over()

    def _take_over(self) -> None:
        """Read what is there, and cut off the half line that a kill in the middle of a write leaves.

        A file that is no journal stays as it is: --journal may name anything.
        """
        self._file.seek(0)
        *lines, half = self._file.read().split(b"\n")
        try:
            records = [json.loads(line) for line in lines]
        except ValueError:
            records = [None]
        is_half = half[: len(START)] == START[: len(half)]
        if not is_half or not all(isinstance(record, dict) and "identity" in record for record in records):
            raise UsageError(f"{self.path} is no journal of tune_kernel.py: name another file with --journal")
        self._file.truncate(sum(len(line) + 1 for line in lines))
        for record in records:
            self._take(record)

    def of(self, case: str, config: Mapping) -> Progress:
        """What is known of ``config`` in ``case``."""
        return self._known.setdefault((case, key_of(config)), Progress(dict(config)))

    def is_finished(self, case: str, budget_s: float) -> bool:
        """Whether ``case`` has had a race of at least ``budget_s`` seconds, or one that ended before."""
        return self._finished.get(case, 0.0) >= budget_s

    def finish(self, case: str, budget_s: float) -> None:
        """The race of ``case`` is over; it was given ``budget_s`` seconds."""
        self._append({"identity": self.identity, "case": case, "finished": budget_s})

    def note(self, case: str, config: Mapping, **facts) -> None:
        """Append one step: failure=, verified=, dropped=, first_call_s= or round_us=."""
        self._append({"identity": self.identity, "case": case, "config": dict(config), **facts})

    def _append(self, record: dict) -> None:
        self._file.write(json.dumps(record).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._apply(record)

    def _take(self, record: dict) -> None:
        if record.get("identity") == self.identity:
            self.resumed += 1
            self._apply(record)

    def _apply(self, record: dict) -> None:
        if record.get("finished"):
            self._finished[record["case"]] = max(record["finished"], self._finished.get(record["case"], 0.0))
            return
        progress = self.of(record["case"], record["config"])
        if "round_us" in record:
            progress.rounds_us.append(record["round_us"])
        for name in ("failure", "verified", "dropped", "first_call_s"):
            if name in record:
                setattr(progress, name, record[name])

    def close(self) -> None:
        """Close the file; everything is on disk already."""
        self._file.close()


def key_of(config: Mapping) -> str:
    """One string for a configuration, whatever the order of its names."""
    return json.dumps(dict(config), sort_keys=True)


def text_of(config: Mapping) -> str:
    """``tile=128 stages=4``, or "as the file stands" for the empty configuration."""
    return " ".join(f"{name}={value}" for name, value in config.items()) or "as the file stands"
