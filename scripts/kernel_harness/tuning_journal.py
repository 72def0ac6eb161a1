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
        self._finished: set[str] = set()
        self.resumed = 0
        if path.exists():
            self._cut_half_line()
            for line in path.read_text().splitlines():
                self._take(json.loads(line))
        self._file = open(path, "a")   # noqa: SIM115, open for as long as the journal lives

    def _cut_half_line(self) -> None:
        """A kill in the middle of a write leaves a line without its end."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with open(self.path, "r+b") as handle:
                handle.truncate(whole)

    def of(self, case: str, config: Mapping) -> Progress:
        """What is known of ``config`` in ``case``."""
        return self._known.setdefault((case, key_of(config)), Progress(dict(config)))

    def is_finished(self, case: str) -> bool:
        """Whether the race of ``case`` has been run to its end."""
        return case in self._finished

    def finish(self, case: str) -> None:
        """The race of ``case`` is over."""
        self._append({"identity": self.identity, "case": case, "finished": True})

    def note(self, case: str, config: Mapping, **facts) -> None:
        """Append one step: failure=, verified=, dropped=, first_call_s= or round_us=."""
        self._append({"identity": self.identity, "case": case, "config": dict(config), **facts})

    def _append(self, record: dict) -> None:
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._apply(record)

    def _take(self, record: dict) -> None:
        if record.get("identity") == self.identity:
            self.resumed += 1
            self._apply(record)

    def _apply(self, record: dict) -> None:
        if record.get("finished"):
            self._finished.add(record["case"])
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
