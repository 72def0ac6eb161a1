"""Two results of benchmark_kernel.py, case by case: same, faster, slower or cannot tell (standard library only)."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path

from ..cli import UsageError
from . import statistics
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
    if not isinstance(document, dict) or document.get("tool") != "benchmark_kernel" or not _is_whole(document):
        raise UsageError(f"--compare {path}: not a result of benchmark_kernel.py (write one with -o FILE)")
    return document


def _is_whole(document: dict) -> bool:
    """Whether everything that a comparison reads is there, and every time is one."""
    try:
        kernels = _kernels(document)
        return (all(kernel["median_us"] > 0 and kernel["method"] for kernel in kernels.values())
                and all(0 < us < math.inf for kernel in kernels.values() for us in kernel["rounds_us"])
                and all(case["keywords"] is not None and case["shapes"] is not None for case in document["cases"])
                and all(charge["sentence"] for charge in document["charges"])
                and bool(_device(document)) and "sha256" in document["kernel"] and _drift(document, document) == 0)
    except (KeyError, TypeError, AttributeError):
        return False


def sha256(source: str) -> str:
    """The hash that a run of this source carries."""
    return hashlib.sha256(source.encode()).hexdigest()


def check_old(old: dict, new_sha256: str, allowed: frozenset[str]) -> None:
    """UsageError when no run of the file with this hash could be held against ``old``; asked before timing."""
    if old["charges"]:
        raise UsageError(f"the old run was refused and has no times: {old['charges'][0]['sentence']}")
    if old["kernel"]["sha256"] != new_sha256 and "kernel" not in allowed:
        raise UsageError("the kernel file changed between the runs; --allow-different kernel compares the two versions")


def compare(old: dict, new: dict, allowed: frozenset[str] = frozenset()) -> RunDifference:
    """Judge every case that both runs timed. UsageError when they differ in what ``allowed`` does not name."""
    check_old(old, new["kernel"]["sha256"], allowed)
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


def _device(document: dict) -> str:
    """The name of the GPU, or of the CPU where the kernel ran on one."""
    environment, entries = document["environment"], _kernels(document).values()
    on_cpu = any(entry["device"] == "cpu" for entry in entries) or not environment["gpu"]
    return f"the CPU {environment.get('cpu') or ''}".rstrip() if on_cpu else environment["gpu"]["name"]


def _refuse(old: dict, new: dict, allowed: frozenset[str]) -> None:
    devices = [_device(document) for document in (old, new)]
    if devices[0] != devices[1] and "gpu" not in allowed:
        raise UsageError(f"the runs are of different devices ({devices[0]} and {devices[1]}); --allow-different gpu "
                         "compares them all the same")
    methods = [{entry["method"] for entry in _kernels(document).values()} for document in (old, new)]
    if methods[0] and methods[1] and methods[0] != methods[1] and "method" not in allowed:
        names = [" and ".join(sorted(method)) for method in methods]
        raise UsageError(f"the runs were timed by different clocks ({names[0]}; {names[1]}), of which one counts what "
                         "the other leaves out; --allow-different method compares them all the same")
    shapes = [{case["name"]: (case["keywords"], case["shapes"]) for case in document["cases"]}
              for document in (old, new)]
    for name in shapes[0].keys() & shapes[1].keys():
        if shapes[0][name] != shapes[1][name] and "inputs" not in allowed:
            raise UsageError(f"case {name} has other inputs in the new run; --allow-different inputs compares it all "
                             "the same")


def _drift(old: dict, new: dict) -> float:
    """How far copy bandwidth and matrix rate moved: the same kernel cannot be known better than its card."""
    drifts = [0.0]
    for before in old.get("ceilings", ()):
        for after in new.get("ceilings", ()):
            keys = ("copy", "flops") if before["flops_of"] == after["flops_of"] else ("copy",)
            drifts += [abs(after[key] / before[key] - 1) for key in keys if before[key] and after[key]]
    return max(drifts)
