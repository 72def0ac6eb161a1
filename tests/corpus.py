#!/usr/bin/env python3
"""Run verify_kernel.py over the corpus: cheating and wrong kernels must be caught, honest ones must pass.

  python tests/corpus.py                     every entry that this machine can run
  python tests/corpus.py a13 honest/ -j 2    entries whose path contains a word
  python tests/corpus.py -o results.json     keep each verdict

Prints one line an entry that is not as its header expects, the detection rate and the false-positive rate; exit code 1
when any entry is not as expected.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import json
import multiprocessing
import os
import runpy
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from kernel_harness import environment
from kernel_harness.verdict import ExitCode

CORPUS = ROOT / "tests" / "kernels"
VERIFY = ROOT / "scripts" / "verify_kernel.py"
MOST_SECONDS = 900
LOST = 255  # what multiprocessing says where its fork server has lost an exit status: one of 552 times
# Each judge would import PyTorch anew: its process is forked from one that has it.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch"])
TIMEOUT = "20"  # for each step of an entry's own code; some entries hang on purpose


@dataclass(frozen=True)
class Entry:
    path: str
    summary: str
    catalogue: str
    expected: tuple[str, ...]
    needs: str
    check: str
    known_miss: str = ""  # why the verifier does not see it, where it does not
    level: str = ""  # the lowest level that must see it, where that is not the one asked for


@dataclass(frozen=True)
class Outcome:
    entry: Entry
    verdict: str
    reasons: list[str]
    seconds: float

    @property
    def as_expected(self) -> bool:
        return self.verdict in self.entry.expected


def entries(words: tuple[str, ...] = ()) -> list[Entry]:
    """The corpus files whose path contains one of ``words`` (all without any)."""
    found = []
    for path in sorted(CORPUS.glob("*/*.py")):
        if path.parent.name not in ("cheats", "honest") or (words and not any(word in str(path) for word in words)):
            continue
        doc = ast.get_docstring(ast.parse(path.read_text()))
        head = {
            key.strip(): value.strip()
            for key, _, value in (line.partition(":") for line in doc.splitlines())
            if key in ("catalogue", "expect", "needs", "check", "level", "known miss")
        }
        found.append(
            Entry(
                str(path.relative_to(ROOT)),
                doc.splitlines()[0],
                head["catalogue"],
                tuple(word.strip() for word in head["expect"].split("|")),
                head["needs"],
                head["check"],
                head.get("known miss", ""),
                head.get("level", ""),
            )
        )
    return found


def runnable(entry: Entry) -> bool:
    """Can this machine run the entry?"""
    return entry.needs == "cpu" or bool(environment.gpus())


def judge(entry: Entry, level: str = "full") -> Outcome:
    """Verify a copy of the entry in a folder of its own: an entry may change the files beside it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, Path(entry.path).name)
        shutil.copy(ROOT / entry.path, copy)
        said = Path(folder, "said")
        command = [
            str(VERIFY),
            str(copy),
            "--format",
            "json",
            "--level",
            entry.level or level,
            "--timeout",
            TIMEOUT if entry.needs == "cpu" else "150",
        ]
        run = SERVER.Process(target=_run, args=(command, str(said)))
        run.start()
        run.join(MOST_SECONDS)
        if run.is_alive():
            run.kill()
            run.join()
        code, printed, log = run.exitcode, said.read_text(), Path(f"{said}.log").read_text()
    verdict = ExitCode(code).name if code in set(ExitCode) else f"EXIT {code}"
    try:
        document = json.loads(printed)
        if code == LOST:
            verdict = ExitCode(document["exit_code"]).name
        reasons = [f"{r['check']}: {r['text']}" for r in document["reasons"]]
        return Outcome(entry, verdict, reasons, document["seconds"])
    except (json.JSONDecodeError, KeyError):
        return Outcome(entry, verdict, [log.strip()[-600:]], 0.0)


def _run(command: list[str], said: str) -> None:
    """The script as a process of its own runs it; what it prints goes to the file ``said``, its log beside it."""
    for stream, file in ((1, said), (2, f"{said}.log")):
        os.dup2(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), stream)
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")


def report_miss(outcome: Outcome) -> None:
    if not outcome.as_expected:
        word = "KNOWN MISS" if outcome.entry.known_miss else "MISS"
        print(
            f"{word} {outcome.entry.path}: {outcome.verdict}, expected {' or '.join(outcome.entry.expected)}; "
            f"{' // '.join(outcome.reasons)[:400]}",
            flush=True,
        )


def _short(reason: str) -> str:
    """What was seen; a traceback below it names this machine's folders."""
    return reason.partition("\n")[0][:100]


def save(outcomes: list[Outcome], options: argparse.Namespace) -> None:
    """The evidence file, written after each entry: a run that is cut short keeps what it has."""
    bad = [o for o in outcomes if "PASS" not in o.entry.expected]
    good = [o for o in outcomes if "PASS" in o.entry.expected]
    rows = [
        {**asdict(o.entry), "verdict": o.verdict, "reasons": [_short(r) for r in o.reasons], "seconds": o.seconds}
        for o in sorted(outcomes, key=lambda o: o.entry.path)
    ]
    options.output.write_text(
        json.dumps(
            {
                "schema": 1,
                "topic": "corpus",
                "method": "scripts/verify_kernel.py on a copy of each entry that the machine can run, one process each",
                "environment": environment.describe(),
                "level": options.level,
                "caught": sum(o.verdict != "PASS" for o in bad),
                "cheating_or_wrong": len(bad),
                "rejected": sum(o.verdict != "PASS" for o in good),
                "honest": len(good),
                "cases": rows,
            },
            indent=1,
        )
        + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--level", default="full")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    chosen = entries(tuple(options.words))
    able = [entry for entry in chosen if runnable(entry)]
    if not able:
        print("no corpus entry was selected that this machine can run", file=sys.stderr)
        return 1
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(judge, entry, options.level) for entry in able]):
            outcomes.append(done.result())
            report_miss(outcomes[-1])
            if options.output:
                save(outcomes, options)
    bad = [o for o in outcomes if "PASS" not in o.entry.expected]
    good = [o for o in outcomes if "PASS" in o.entry.expected]
    caught, rejected = sum(o.verdict != "PASS" for o in bad), sum(o.verdict != "PASS" for o in good)
    print(f"cheating or wrong: {caught} of {len(bad)} caught; verdict as expected: {sum(o.as_expected for o in bad)}")
    print(f"honest: {rejected} of {len(good)} rejected")
    print(f"not run here: {len(chosen) - len(able)}")
    return 0 if all(o.as_expected or o.entry.known_miss for o in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
