"""profile_kernel.py: what to profile, with which tool, and how it is shown (standard library only)."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from . import environment, profiling
from .arena import Arena, Stopped
from .cli import UndecidedError, UsageError
from .report import Report, Table, emit
from .verdict import ExitCode

LAUNCHES = ("kernel", "us", "grid", "block", "registers", "shared bytes", "stream")
ROWS = (   # the comparison: (row, plain metric, factor)
    ("duration us", "duration_us", 1), ("tensor %", "tensor_percent", 1), ("DRAM %", "dram_percent", 1),
    ("occupancy %", "occupancy_percent", 1), ("registers a thread", "registers", 1),
    ("shared memory a block KiB", "shared_bytes", 1 / 1024), ("SM throughput %", "sm_percent", 1),
    ("memory throughput %", "memory_percent", 1), ("DRAM read MB", "dram_read_bytes", 1e-6),
    ("DRAM written MB", "dram_write_bytes", 1e-6), ("L2 hit %", "l2_hit_percent", 1),
    ("occupancy limit %", "occupancy_limit_percent", 1), ("waves", "waves", 1), ("issue slots %", "issue_percent", 1),
    ("shared bank conflicts", "bank_conflicts", 1))


def run(options) -> ExitCode:
    """Profile as the options say, and report."""
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        arena = Arena(options.kernel, (), Path(folder), options.timeout, None)
        try:
            case, facts, launches = _observe(arena, options)
        except Stopped as stop:
            return emit(Report("profile_kernel", "CRASHED", stop.code, {}, {}, (), [str(stop)]), options.format,
                        options.output)
        finally:
            arena.close()
    rows = [(one["name"], one["us"], _text(one["shape"][:3]), _text(one["shape"][3:6]), one["registers"],
             one["shared_bytes"], one["stream"]) for one in launches]
    seen = Table("One call, as CUPTI saw it", LAUNCHES, rows, "launch")
    document = {"environment": environment.describe(), "kernel": {"file": str(options.kernel)}, "case": case,
                "launches": launches, "compulsory_bytes": facts["bytes_moved"]}
    ncu = options.ncu or profiling.find_ncu()
    if ncu is None:
        return emit(Report("profile_kernel", "NO NCU", ExitCode.UNDECIDED, document, {"case": case}, [seen],
                           [profiling.HOW_TO_GET_NCU], [], _further(options, case)), options.format, options.output)
    subjects = {"kernel": (options.kernel, "kernel")}
    if options.compare == "reference":
        subjects["reference"] = (options.kernel, "reference")
    elif options.compare:
        subjects[options.compare] = (Path(options.compare), "kernel")
    try:
        profiles = {name: profiling.collect(ncu, file, case, subject, options.timeout)
                    for name, (file, subject) in subjects.items()}
    except profiling.ProfilerFailed as error:
        raise UndecidedError(str(error)) from None
    document["profiles"] = profiles
    tables, findings = [seen, _comparison(profiles)], []
    for name, kernels in profiles.items():
        longest = max(kernels, key=lambda kernel: kernel["duration_us"] or 0)
        for one in profiling.diagnose(longest, facts["bytes_moved"], facts["sm_count"]):
            findings.append(f"{name}: {one.what} ({one.evidence}); read {one.page}")
    document["diagnosis"] = findings
    return emit(Report("profile_kernel", "PROFILED", ExitCode.PASS, document, {"case": case, "ncu": ncu}, tables, [],
                       findings, _further(options, case)), options.format, options.output)


def _observe(arena: Arena, options) -> tuple[str, dict, list[dict]]:
    """(case, the contender's facts, the launches of one call)."""
    loaded = arena.open()
    case = options.case or loaded["bench_cases"][0]
    if case not in loaded["bench_cases"]:
        raise UsageError(f"--case {case}: no such case; {options.kernel} has {', '.join(loaded['bench_cases'])}")
    arena.draw(case)   # says in a sentence where a GPU is needed and there is none
    arena.ready(arena.kernel)
    facts = arena.tell(arena.kernel, "enter", case=case, seed=secrets.randbits(40))
    if facts["device"] == "cpu":
        raise UndecidedError(f"{options.kernel} makes its inputs on the CPU: there are no device metrics to profile")
    return case, facts, arena.tell(arena.kernel, "profile")["launches"]


def _comparison(profiles: dict[str, list[dict]]) -> Table:
    """One column a subject, of its longest kernel; the duration is that of all its kernels."""
    longest = {name: max(kernels, key=lambda kernel: kernel["duration_us"] or 0) for name, kernels in profiles.items()}
    rows = []
    for title, metric, factor in ROWS:
        values = [kernel[metric] for kernel in longest.values()]
        if metric == "duration_us":
            values = [sum(kernel["duration_us"] or 0 for kernel in kernels) for kernels in profiles.values()]
        shown = [None if value is None else float(value * factor) for value in values]
        delta = shown[1] / shown[0] if len(shown) == 2 and shown[0] and shown[1] is not None else None
        rows.append((title, *shown, *([delta] if len(shown) == 2 else [])))
    stalls = [", ".join(f"{reason} {warps:.1f}" for reason, warps in
                        sorted(kernel["stalls"].items(), key=lambda item: -item[1])[:3]) for kernel in longest.values()]
    rows.append(("stalls (warps)", *stalls, *([None] if len(stalls) == 2 else [])))
    columns = ("metric", *profiles, *(["ratio"] if len(profiles) == 2 else []))
    return Table("Nsight Compute, longest kernel of one call", columns, rows, "metric")


def _further(options, case: str) -> list[str]:
    target = f"python -c \"{profiling.BOOTSTRAP}\" scripts {options.kernel} '{case}' kernel"
    return [f"python scripts/inspect_kernel.py {options.kernel}   (registers, spills, instructions; no GPU needed)",
            f"nsys profile --capture-range=cudaProfilerApi {target}   (timeline with NVTX ranges)"]


def _text(numbers) -> str:
    return "x".join(str(number) for number in numbers)
