"""The last column of the tables in examples/README.md: what was measured, from results/ and results/unmeasured.txt.

`python tests/examples_table.py` writes the column; tests/examples/test_readme.py holds it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from results_table import ROOT, measured, timed

PAGE = ROOT / "examples" / "README.md"
UNMEASURED = ROOT / "results" / "unmeasured.txt"
ROW = re.compile(r"^\| \[(?P<name>[^]]+)\]\((?P<link>[^)]+)\) \|.*\| (?P<standing>[^|]*) \|$", re.MULTILINE)


def standing(file: str, evidence: dict | None = None) -> str:
    """Peer's time over the kernel's, from worst to best case, the peers and the evidence; or that there is none, why.

    Of several races those of the newest day, which were against more peers. `file` is relative to the repository;
    `evidence` is what measured() returns."""
    rows, races = [], []
    documents = (measured() if evidence is None else evidence).get(file, [])
    for path, document in timed(documents):
        cases = [case for case in document["cases"] if case.get("kernel", file) == file and "ratio" in case]
        races += [(document.get("environment", {}).get("date", ""), path, cases)] if cases else []
    newest = max((date for date, _, _ in races), default="")
    for date, path, cases in races:
        if date == newest:
            ratios = [f"{case['ratio']:.2f}" for case in sorted(cases, key=lambda case: case["ratio"])]
            peers = ", ".join(sorted({case["best_peer"] for case in cases}))
            span = " to ".join(dict.fromkeys((ratios[0], ratios[-1])))
            rows.append(f"{span}: {peers} ([evidence](../results/{path.name}))")
    if rows:
        return ", ".join(rows)
    notes = dict(line.split(maxsplit=1) for line in UNMEASURED.read_text().splitlines() if line and line[0] != "#")
    note = notes.get(file, "")
    if note.startswith(("no kernel", "no times")):
        return " ".join(note.split()[:2]).rstrip(";")
    if not note and any(document.get("environment", {}).get("gpu") for _, document in documents):
        return "right on a GPU, no peer timed in this state"
    was_measured = any(word in note for word in ("measured", "timed", "on an H"))
    return "not measured in this state" if was_measured else "never run on a GPU"


def page() -> str:
    """examples/README.md with the column as it must be; a folder's row points to its own page and keeps its text."""
    evidence = measured()

    def row(match: re.Match) -> str:
        file = f"examples/{match['link']}"
        if not file.endswith(".py"):
            return match[0]
        return match[0][: match.start("standing") - match.start()] + standing(file, evidence) + " |"

    return ROW.sub(row, PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(f"wrote {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE}\n")
