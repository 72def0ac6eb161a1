"""Benchmark results as a Report: a row for each contender, the speed-up, what was refused and why (stdlib only)."""

from __future__ import annotations

from dataclasses import asdict

from .. import cli, report
from ..cli import UsageError
from ..report import Report, Table
from ..verdict import ExitCode, worst
from .run_comparison import SESSION_RESOLUTION, RunDifference
from .statistics import Difference

WORDS = {ExitCode.PASS: "TIMED", ExitCode.WRONG_RESULT: "WRONG RESULT", ExitCode.CHEATING: "REFUSED",
         ExitCode.COMPILE_ERROR: "DOES NOT COMPILE", ExitCode.CRASH: "CRASHED", ExitCode.CONTRACT: "CONTRACT",
         ExitCode.UNDECIDED: "UNDECIDED"}
TIMES = ("case", "contender", "us", "p10", "p90", "GB/s", "TFLOP/s", "% of limit", "limit")
SPEEDUPS = ("case", "against", "speedup", "low", "high")
CEILINGS = ("kind", "value", "unit")
SCATTER = 2.0   # p90 over p10 beyond which a time is no property of the kernel
NEW_VALUES = 1.5   # times the usual time; the flush before such a call explains less
ASIDE = ("case", "contender", "warm us", "unseen us", "events us", "host us", "first call s", "launches")


def of_run(document: dict) -> Report:
    """The report of one run."""
    code = worst(ExitCode(charge["code"]) for charge in document["charges"])
    cases = [] if code else document["cases"]
    timed = [(case, entry) for case in cases for entry in case["contenders"] if "median_us" in entry]
    speedups = [(case["name"], against, ratio["estimate"], ratio["low"], ratio["high"])
                for case in cases for against, ratio in case.get("speedups", {}).items()]
    aside = [(case["name"], *(entry[key] for key in ("name", "warm_us", "new_values_us", "event_us", "host_us",
                                                     "first_call_s", "launches"))) for case, entry in timed]
    tables = [_table("Device time, cold L2", TIMES, [_times_row(case, entry) for case, entry in timed], "time"),
              _table("Speed-up, with its interval", SPEEDUPS, speedups, "speedup"),
              _table("Apart: warm L2, values never seen before, other clocks, compilation", ASIDE, aside, "aside"),
              _table("Ceilings measured in this run", CEILINGS, _ceiling_rows(document), "ceiling")]
    return Report("benchmark_kernel", WORDS.get(code, "FAILED"), code, document, _summary(document, cases),
                  [table for table in tables if table.rows], [charge["sentence"] for charge in document["charges"]],
                  _notes(document, cases), _next(document["kernel"]["file"], cases))


def _table(title: str, columns: tuple[str, ...], rows: list[tuple], key: str) -> Table:
    """A table without the columns that hold nothing in any row."""
    used = [index for index in range(len(columns)) if any(row[index] is not None for row in rows)]
    return Table(title, [columns[index] for index in used], [[row[index] for index in used] for row in rows], key)


def _ceiling_rows(document: dict) -> list[tuple]:
    rows = []
    for ceiling in document["ceilings"] if any(case["contenders"] for case in document["cases"]) else ():
        rows += [(kind, ceiling[kind] / 1e9, "GB/s") for kind in ("copy", "read", "write")]
        if ceiling["flops"]:
            rows.append((f"{ceiling['flops_of']} matrix product", ceiling["flops"] / 1e12, "TFLOP/s"))
        rows += [("shortest launch", ceiling["launch_us"], "us")]
    return list(dict.fromkeys(rows))


def _times_row(case: dict, entry: dict) -> tuple:
    roofline = entry["roofline"] or {"bytes_per_second": 1e6 * entry["bytes_moved"] / entry["median_us"],
                                     "flops_per_second": None, "percent": None, "limit": None}
    flops = roofline["flops_per_second"]
    return (case["name"], entry["name"], entry["median_us"], entry["p10_us"], entry["p90_us"],
            roofline["bytes_per_second"] / 1e9, flops / 1e12 if flops else None, roofline["percent"], roofline["limit"])


def _summary(document: dict, cases: list[dict]) -> dict:
    kernel = next((case["contenders"][0] for case in cases if case["contenders"]), {})
    facts = {"kernel": document["kernel"]["file"], "method": kernel.get("method"), "cases": len(cases) or None}
    speedups = [case["speedup"] for case in cases if case.get("speedup")]
    if len(speedups) == 1:
        facts |= {"speedup": speedups[0]["estimate"], "low": speedups[0]["low"], "high": speedups[0]["high"],
                  "against": speedups[0]["against"]}
    elif speedups:
        facts |= {"geometric_mean_speedup": document["geometric_mean_speedup"], "against": "each case's best baseline"}
    return facts


def _notes(document: dict, cases: list[dict]) -> list[str]:
    notes = list(document["remarks"])
    for case in cases:
        for entry in case["contenders"]:
            if entry.get("starved_bursts"):
                notes.append(f"case {case['name']}: {entry['name']} waits for the device or for the host in "
                             f"{entry['starved_bursts']} of {entry['rounds']} bursts; its time includes that wait")
            if "p10_us" in entry and entry["p90_us"] > SCATTER * entry["p10_us"]:
                notes.append(f"case {case['name']}: the times of {entry['name']} scatter from {entry['p10_us']:.1f} to "
                             f"{entry['p90_us']:.1f} us (p10 to p90): other work shares this device, or calls differ")
            if (entry.get("roofline") or {}).get("percent", 0) > 100 and entry["device"] == "cpu":
                notes.append(f"case {case['name']}: {entry['name']} is past the limit of memory: its operands stay "
                             "in the CPU's caches")
        if case["contenders"]:
            kernel = case["contenders"][0]
            if kernel["new_values_us"] > NEW_VALUES * kernel["median_us"] + 5 and kernel["device"] == "cuda":
                notes.append(f"case {case['name']}: a call on values that the kernel has not seen takes "
                             f"{kernel['new_values_us']:.1f} us; something is kept from call to call (packed weights?)")
            notes.append(f"case {case['name']}: {kernel['rotation']}; {kernel['rounds']} rounds, {kernel['count']} "
                         f"calls, {kernel['samples_compared']} compared in full")
            notes += [f"case {case['name']}: {text}" for text in _state_notes(case.get("gpu_state") or {})]
            if kernel["note"]:
                notes.append(f"case {case['name']}: {kernel['note']}")
    return list(dict.fromkeys(notes))


def _state_notes(state: dict) -> list[str]:
    """What about the GPU's own state a reader of the numbers must know."""
    notes = []
    if state.get("throttled_by"):
        notes.append(f"the GPU was held back by {' and '.join(state['throttled_by'])} at {state['sm_mhz']} MHz, "
                     f"{state['power_w']:.0f} W, {state['temperature_c']} degrees")
    if state.get("foreign_processes"):
        notes.append(f"{state['foreign_processes']} other processes are on this GPU: times may include their work")
    return notes


def _next(file: str, cases: list[dict]) -> list[str]:
    slow = [case["name"] for case in cases for kernel in case["contenders"][:1]
            if kernel["roofline"] and kernel["roofline"]["percent"] < 80]
    return [f"{cli.command('profile_kernel.py', file, '--case', case)}   (why it stays under its limit)"
            for case in slow[:1]]


def of_comparison(found: RunDifference, new: dict, fail_over_percent: float | None) -> Report:
    """The report of a comparison; exit code 1 only where the user asked for it and a case is surely slower."""
    rows = [(case.name, case.old_us, case.new_us, case.ratio.estimate, case.ratio.low, case.ratio.high,
             case.difference.value) for case in found.cases]
    regressions = [case for case in found.cases if fail_over_percent is not None
                   and case.difference is Difference.SLOWER and case.ratio.estimate > 1 + fail_over_percent / 100]
    counts = {kind.value.replace(" ", "_"): sum(case.difference is kind for case in found.cases) for kind in Difference}
    notes = [f"the device's own ceilings moved by {100 * found.drift:.1f} % between the runs; no interval is narrower"]
    notes += [f"only in one of the runs: {', '.join(found.missing)}"] if found.missing else []
    if fail_over_percent is not None and fail_over_percent < 100 * SESSION_RESOLUTION:
        notes.append(f"two sessions are not known better than {100 * SESSION_RESOLUTION:g} %: a slow-down of "
                     f"{fail_over_percent:g} % passes")
    table = Table("New over old", ("case", "old us", "new us", "ratio", "low", "high", "verdict"), rows)
    document = new | {"comparison": [asdict(case) for case in found.cases]}
    findings = [f"case {case.name} is {100 * (case.ratio.estimate - 1):.1f} % slower ({case.old_us:.2f} us to "
                f"{case.new_us:.2f} us; ratio {case.ratio.low:.3f} to {case.ratio.high:.3f})" for case in regressions]
    code = ExitCode.WRONG_RESULT if regressions else ExitCode.PASS
    return Report("benchmark_kernel", "REGRESSION" if regressions else "COMPARED", code, document, counts,
                  [table], findings, notes)


def emit(result: Report, options, document: dict) -> ExitCode:
    """Write the report, then the charts that --plot asks for: what was measured is out if they cannot be written."""
    code = report.emit(result, options.format, options.output)
    if options.plot and result.exit_code in (ExitCode.PASS, ExitCode.WRONG_RESULT):
        from . import benchmark_plot

        try:
            benchmark_plot.write(document, options.plot.expanduser())
        except OSError as error:
            raise UsageError(f"--plot {options.plot} could not be written: {error.strerror}") from None
    return code
