"""profile_kernel.py: what to profile, with which tool, and how it is shown (standard library only).

Without ncu, or without a GPU, the inspection of the compiled kernels takes its place, and counters of each line from a
simulated call; the exit code stays "could not be decided here", as neither says what a kernel waits for.
"""

from __future__ import annotations

import secrets
import shlex
import tempfile
from pathlib import Path

from .. import cli, environment, simulation
from ..cli import UndecidedError, UsageError, no_such_case
from ..compiled import capture, inspection
from ..report import Progress, Report, Table, emit
from ..verdict import ExitCode
from . import line_counters, profiling
from .arena import Arena, Stopped

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
    ncu = options.ncu or profiling.find_ncu()
    if options.ncu and not Path(options.ncu).is_file():
        raise UsageError(f"--ncu {options.ncu}: no such file")
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
                "launches": launches, "compulsory_bytes": facts.get("bytes_moved")}
    if not launches or ncu is None:
        return emit(_inspected(options, case, document, [seen] if launches else []), options.format, options.output)
    subjects = {"kernel": (options.kernel, "kernel")}
    if options.compare == "reference":
        subjects["reference"] = (options.kernel, "reference")
    elif options.compare:
        subjects[options.compare] = (Path(options.compare), "kernel")
    try:
        profiles = {name: profiling.collect(ncu, file, case, subject, options.timeout, options.kernel)
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
    """(case, the contender's facts, the launches of one call); neither facts nor launches without a GPU."""
    loaded = arena.open()
    case = options.case or loaded["bench_cases"][0]
    known = list(dict.fromkeys(loaded["bench_cases"] + loaded["cases"]))
    if case not in known:
        raise no_such_case(case, options.kernel, known)
    try:
        arena.draw(case)
    except UndecidedError:   # it needs a GPU, and there is none
        return case, {}, []
    arena.ready(arena.kernel)
    facts = arena.tell(arena.kernel, "enter", case=case, seed=secrets.randbits(40))
    if facts["device"] == "cpu":
        raise UndecidedError(f"{options.kernel} makes its inputs on the CPU: there are no device metrics to profile")
    return case, facts, arena.tell(arena.kernel, "profile")["launches"]


def _inspected(options, case: str, document: dict, tables: list[Table]) -> Report:
    """What the compiled code and a simulated call tell without ncu. tables: what CUPTI saw, empty without a GPU."""
    found = _inspect(options.kernel, options.timeout, (options.case,) if options.case else capture.FIRST)
    if options.compare not in (None, "reference"):
        found.tables.append(inspection.compare(found, _inspect(Path(options.compare), options.timeout)))
    diagnosis = [f"{kernel['label']} ({kernel['arch']}): {one.what} ({one.evidence}); read {one.page}"
                 for kernel in found.document["kernels"] for one in profiling.diagnose_code(kernel)]
    counted = _count(options, case, {kernel["arch"] for kernel in found.document["kernels"]})
    seen = line_counters.diagnose(counted.get("lines", ()))
    if "reason" not in counted and not any((k["families"] or {}).get("tensor core") for k in found.document["kernels"]):
        seen += line_counters.diagnose_issue(counted)
    diagnosis += [f"{one.what} ({one.evidence}); read {one.page}" for one in seen]
    document |= {"kernels": found.document["kernels"], "simulated": counted, "diagnosis": diagnosis}
    why = profiling.HOW_TO_GET_NCU if tables else (
        "there is no GPU here: nothing was timed; the code was read, and a small case simulated")
    notes = [*diagnosis, *found.notes]
    counters = []
    if "reason" in counted:
        notes.append(f"no counters of lines from the simulator: {counted['reason']}")
    else:
        counters = [Table("Simulated", line_counters.TOTALS, line_counters.totals(counted), "executed"),
                    Table("", line_counters.COLUMNS, line_counters.rows(counted["lines"]), "line")]
    if not any(case in kernel["cases"] for kernel in found.document["kernels"]):
        notes.append(f"the code is that of the file's first test case; case {case} may compile to other code")
    summary = {"case": case, **({"simulated_case": counted["case"]} if counters else {})}
    return Report("profile_kernel", "NO NCU" if tables else "NO GPU", ExitCode.UNDECIDED, document, summary,
                  [*tables, *found.tables, *counters], [why, *found.findings], notes, _further(options, case))


def _count(options, case: str, archs: set[str]) -> dict:
    """line_counters.collect for the first of the compile targets that the simulator takes."""
    arch = next((arch for arch in simulation.ARCHS if arch in archs), None)
    if reason := "none of the file's ARCHS can be simulated" if arch is None else simulation.possible():
        return {"reason": reason}
    return line_counters.collect(options.kernel, case, arch, options.timeout)


def _inspect(file: Path, timeout_s: float, cases=capture.FIRST) -> Report:
    """The inspection of these cases of a file, for this machine's GPU or, without one, for the file's ARCHS."""
    gpu = environment.describe()["gpu"]
    major, minor = gpu["compute_capability"].split(".") if gpu else ("0", "")
    archs = [f"sm_{major}{minor}{'a' * (int(major) >= 9)}"] if gpu else ()
    progress = Progress()
    try:
        return inspection.inspect(file, archs, cases, timeout_s, None, progress.step)
    finally:
        progress.close()


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
    scripts = Path(__file__).resolve().parents[2]
    target = shlex.join(["python", "-c", profiling.BOOTSTRAP, str(scripts), str(options.kernel), case, "kernel"])
    return [f"{cli.command('inspect_kernel.py', options.kernel)} --source FOLDER   (PTX and SASS to read)",
            f"nsys profile --capture-range=cudaProfilerApi {target}   (timeline with NVTX ranges)"]


def _text(numbers) -> str:
    return "x".join(str(number) for number in numbers)
