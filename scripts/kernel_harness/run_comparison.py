"""Two results of benchmark_kernel.py, case by case: same, faster, slower or cannot tell (standard library only)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from . import statistics
from .cli import UsageError
from .statistics import Difference, Ratio

SESSION_RESOLUTION = 0.01   # two sessions of one card differ by this much without any change of the kernel


@dataclass(frozen=True)
class CaseDifference:
    """One case in both runs. ratio: new time over old."""

    name: str
    old_us: float
    new_us: float
    ratio: Ratio
    difference: Difference


@dataclass(frozen=True)
class RunDifference:
    """All common cases; ``drift`` is how far the card's own ceilings moved between the runs, as a fraction."""

    cases: list[CaseDifference]
    drift: float
    missing: list[str]


def load(path: Path) -> dict:
    """The JSON of a run; UsageError when it is none."""
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"--compare {path}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"--compare {path}: not a JSON file") from None
    if not isinstance(document, dict) or document.get("tool") != "benchmark_kernel" or "cases" not in document:
        raise UsageError(f"--compare {path}: not a result of benchmark_kernel.py (write one with -o FILE)")
    return document


def compare(old: dict, new: dict, allowed: frozenset[str] = frozenset()) -> RunDifference:
    """Judge every case that both runs timed. UsageError when they differ in what ``allowed`` does not name."""
    _refuse(old, new, allowed)
    drift = _drift(old, new)
    olds, news = (_kernels(document) for document in (old, new))
    cases = []
    for name in olds:
        if name in news:
            before, after = olds[name], news[name]
            ratio = statistics.unpaired_ratio(after["rounds_us"], before["rounds_us"])
            ratio = statistics.widen(ratio, max(SESSION_RESOLUTION, drift))
            cases.append(CaseDifference(name, before["median_us"], after["median_us"], ratio,
                                        statistics.classify(ratio, margin=2 * SESSION_RESOLUTION)))
    if not cases:
        raise UsageError("the two results have no timed case in common")
    return RunDifference(cases, drift, sorted(set(olds) ^ set(news)))


def _kernels(document: dict) -> dict[str, dict]:
    return {case["name"]: case["contenders"][0] for case in document["cases"]
            if case["contenders"] and case["contenders"][0].get("rounds_us")}


def _refuse(old: dict, new: dict, allowed: frozenset[str]) -> None:
    gpus = [(document.get("environment", {}).get("gpu") or {}).get("name", "the CPU") for document in (old, new)]
    if gpus[0] != gpus[1] and "gpu" not in allowed:
        raise UsageError(f"the runs are of different devices ({gpus[0]} and {gpus[1]}); --allow-different gpu compares "
                         "them all the same")
    if old["kernel"]["sha256"] != new["kernel"]["sha256"] and "kernel" not in allowed:
        raise UsageError("the kernel file changed between the runs; --allow-different kernel compares the two versions")
    shapes = [{case["name"]: (case["keywords"], case["shapes"]) for case in document["cases"]}
              for document in (old, new)]
    for name in shapes[0].keys() & shapes[1].keys():
        if shapes[0][name] != shapes[1][name] and "inputs" not in allowed:
            raise UsageError(f"case {name} has other inputs in the new run; --allow-different inputs compares it all "
                             "the same")


def _drift(old: dict, new: dict) -> float:
    """How far copy bandwidth and matrix rate moved: the same kernel cannot be known better than its card."""
    drifts = [0.0]
    for before, after in zip(old.get("ceilings", ()), new.get("ceilings", ()), strict=False):
        for key in ("copy", "flops"):
            if before.get(key) and after.get(key):
                drifts.append(abs(after[key] / before[key] - 1))
    return max(drifts)
