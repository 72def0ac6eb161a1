"""What EXPECT forbids (a rule of zero: no spills, no local memory) in the cases after the first: a tile or a row length
that one of them selects is another kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..contract import ContractError, read_source
from ..report import Report
from ..verdict import ExitCode, worst
from . import capture, expect, inspection, kernel_facts


def held_in_all_cases(compiled: Report, path: Path, arch: str, timeout: float) -> Report:
    """``compiled``, of the first case, with what the other TEST_CASES break for ``arch``; timeout: seconds a case."""
    forbids = any(check["rule"] in expect.FORBIDS for check in compiled.document["expect"] if check["arch"] == arch)
    if compiled.document["problems"] or compiled.findings or not forbids or "_CASES" not in read_source(path)[0]:
        return compiled
    try:
        (captured,) = capture.capture(path, (arch,), None, timeout)
    except (capture.CaptureError, ContractError) as error:
        seen = f"EXPECT was not held against the cases after the first: {error}"
        return replace(compiled, notes=[*compiled.notes, seen[:300]])
    rules = expect.parse(captured.expect, str(path)).get(arch, {})
    zeros = {fact: rule for fact, rule in rules.items() if str(rule) in expect.FORBIDS}
    facts = kernel_facts.labelled(captured.kernels, path.stem)
    cases = {f.label: ", ".join(f.kernel.cases) for f in facts}
    broken = [check for check in expect.check(zeros, arch, [(f.label, f) for f in facts], None) if check.holds is False]
    if not broken:
        return compiled
    code = worst((compiled.exit_code, ExitCode.WRONG_RESULT))
    found = [f"EXPECT[{arch!r}]: {c.fact} is {c.found}, expected {c.rule} ({c.where}, case {cases[c.where]})"
             for c in broken]
    return replace(compiled, exit_code=code, verdict=inspection.TITLES[code], findings=[*compiled.findings, *found])
