"""benchmark.json and BENCHMARK.md of a folder of runs (standard library only)."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

ARMS = ("with_skill", "without_skill")
MEASURES = ("pass_rate", "time_seconds", "tokens", "kernel_lines", "speedup")


def collect(folder: Path) -> list[dict]:
    """One record a graded run, in the order of its path; the shape is that of skill-creator's benchmark.json."""
    records = []
    for path in sorted(folder.glob("runs/*/*/*/grading.json")):
        grading, timing = json.loads(path.read_text()), json.loads(path.with_name("timing.json").read_text())
        summary, facts = grading["summary"], grading["facts"]
        records.append({
            "eval_id": grading["eval_id"], "eval_name": grading["eval_name"],
            "configuration": path.parts[-3], "run_number": int(path.parts[-2]), "verdict": grading["verdict"],
            "graded_by": grading["graded_by"], "timed_out": timing["timed_out"], "date": timing["date"],
            "result": {"pass_rate": summary["pass_rate"], "passed": summary["passed"], "failed": summary["failed"],
                       "undecided": summary["undecided"], "total": summary["total"],
                       "time_seconds": timing["total_duration_seconds"], "tokens": timing["total_tokens"],
                       "kernel_lines": facts.get("kernel_lines"), "speedup": facts.get("speedup")},
            "expectations": grading["expectations"],
        })  # fmt: skip
    return records


def spread(values: list) -> dict | None:
    """Mean, standard deviation, least and greatest of the values that are there; None without any."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    deviation = statistics.stdev(known) if len(known) > 1 else 0.0
    return {"mean": statistics.fmean(known), "stddev": deviation, "min": min(known), "max": max(known), "n": len(known)}


def document(folder: Path, agent: str, calls: int, missing: list[str]) -> dict:
    """benchmark.json: metadata, every run, and the measures of each arm with their difference."""
    records = collect(folder)
    arms = {arm: {measure: spread([r["result"][measure] for r in records if r["configuration"] == arm])
                  for measure in MEASURES} for arm in ARMS}  # fmt: skip
    delta = {measure: arms[ARMS[0]][measure]["mean"] - arms[ARMS[1]][measure]["mean"] for measure in MEASURES
             if arms[ARMS[0]][measure] and arms[ARMS[1]][measure]}  # fmt: skip
    return {
        "metadata": {"skill_name": "cute-dsl-kernels", "agent": agent, "date": time.strftime("%Y-%m-%d"),
                     "calls": calls, "graded_by": sorted({r["graded_by"] for r in records}), "missing": missing},
        "runs": records,
        "run_summary": {**arms, "delta": delta},
    }  # fmt: skip


def markdown(benchmark: dict) -> str:
    """BENCHMARK.md: a table of the arms, one of the tasks, and every expectation that does not hold."""
    about, runs = benchmark["metadata"], benchmark["runs"]
    lines = ["# Benchmark of the skill", "",
             f"{about['date']}, agent `{about['agent']}`, {about['calls']} calls, {len(runs)} runs graded by "
             f"{' / '.join(about['graded_by']) or 'nothing'}.", "",
             "Mean ± standard deviation over the runs; what was not decided counts neither way.", "",
             "| measure | with skill | without skill | difference |", "|---|---|---|---|"]  # fmt: skip
    for measure in MEASURES:
        cells = [_cell(benchmark["run_summary"][arm][measure]) for arm in ARMS]
        delta = benchmark["run_summary"]["delta"].get(measure)
        lines.append(f"| {measure} | {cells[0]} | {cells[1]} | {'' if delta is None else f'{delta:+.4g}'} |")
    lines += ["", "| task | arm | verdicts | minutes |", "|---|---|---|---|"]
    for name, arm in sorted({(run["eval_name"], run["configuration"]) for run in runs}):
        mine = [run for run in runs if (run["eval_name"], run["configuration"]) == (name, arm)]
        minutes = ", ".join(f"{run['result']['time_seconds'] / 60:.1f}" + " (limit)" * run["timed_out"] for run in mine)
        lines.append(f"| {name} | {arm} | {', '.join(run['verdict'] for run in mine)} | {minutes} |")
    failures = [f"- {run['eval_name']}, {run['configuration']} {run['run_number']}: {row['text']}: "
                f"{' '.join(row['evidence'].split())[:300]}"
                for run in runs for row in run["expectations"] if not row["passed"]]  # fmt: skip
    lines += ["", "## What does not hold or was not decided", "", *(failures or ["Nothing."])]
    if about["missing"]:
        lines += ["", "## Not run", "", *(f"- {path}" for path in about["missing"])]
    return "\n".join(lines) + "\n"


def _cell(values: dict | None) -> str:
    return "not reported" if values is None else f"{values['mean']:.4g} ± {values['stddev']:.2g} (n={values['n']})"
