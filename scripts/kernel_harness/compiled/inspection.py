"""inspect_kernel.py behind its arguments: instruction facts, occupancy, warnings and EXPECT of a file's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import contract, environment
from ..report import Report, Table
from ..verdict import ExitCode, worst
from . import capture, expect, sass
from .kernel_facts import Facts, bound_notes, drain_notes, labelled, scalar_notes, spill_notes

NOTHING = (
    "kernel_fn ran to its end and compiled no CuTe DSL, Triton or CUDA C++ kernel. Plain torch code has none "
    "to be seen: use verify_kernel.py on a GPU. To be seen, kernel_fn must compile or load its kernel when it is called"
)
NO_NVDISASM = (
    "SASS facts (instructions, access widths, spills) are missing, not zero: no nvdisasm was found; "
    "pip install nvidia-cuda-nvdisasm"
)
TITLES = {
    ExitCode.PASS: "COMPILED",
    ExitCode.COMPILE_ERROR: "DOES NOT COMPILE",
    ExitCode.CRASH: "CRASH",
    ExitCode.UNDECIDED: "UNDECIDED",
    ExitCode.WRONG_RESULT: "EXPECT NOT MET",
}


def inspect(
    path: Path,
    archs: Sequence[str] = (),
    cases=(),
    timeout: float = 120.0,
    keep: Path | None = None,
    progress=lambda text: None,
) -> Report:
    """Compile the file and report its facts.

    cases: names, () for all, or capture.FIRST. keep: a folder for PTX and SASS. Raises ContractError.
    """
    path = Path(path)
    facts, problems, findings, notes, checks = [], [], [], [], []
    targets, clean, failed = [], [], {}
    try:
        for captured in capture.capture(path, archs, cases or None, timeout, progress):
            progress(f"reading the SASS for {captured.arch}")
            targets.append(captured.arch)
            here = labelled(captured.kernels, path.stem)
            facts += here
            problems += captured.problems
            if captured.problems:
                failed[captured.arch] = captured.problems
            elif captured.kernels:
                clean.append(captured.arch)
            if not captured.kernels and not captured.problems:
                problems.append(capture.CaptureError(f"{path.name} ({captured.arch}): {NOTHING}", ExitCode.UNDECIDED))
            rules = expect.parse(captured.expect, str(path)).get(captured.arch, {})
            first = captured.first_case
            of_first = {f.label for f in here if first in f.kernel.cases} if first in captured.cases else None
            if here or not captured.problems:  # else the problem says it: nothing is there to hold EXPECT against
                checks += expect.check(rules, captured.arch, [(f.label, f) for f in here], of_first)
            if of_first is None and any(not rule.is_upper_bound for rule in rules.values()):
                notes.append(f"EXPECT is about case {first}, which was not compiled: upper bounds alone were held")
            for f in here:
                notes += [*spill_notes(f), *bound_notes(f), *drain_notes(f), *scalar_notes(f, captured.cases[0])]
    except capture.CaptureError as error:
        problems.append(error)
    optional = [] if archs or "ARCHS" in contract.read_source(path)[0] else _left_out(clean, failed)
    for arch in optional:
        problems = [p for p in problems if p not in failed[arch]]
        notes.append(f"the file names no ARCHS, so this default target is left out: {failed[arch][0]}")
    findings += _told(problems)
    findings += [
        f"EXPECT[{c.arch!r}]: {c.fact} is {c.found}, expected {c.rule} ({c.where})"
        if c.holds is False
        else f"EXPECT[{c.arch!r}]: {c.fact} {c.rule}: {c.reason}"
        for c in checks
        if not c.holds
    ]
    if any(f.kernel.cubin and f.sass is None for f in facts):
        notes.append(NO_NVDISASM)
    notes += [f"{f.label} ({f.kernel.arch}) cannot be launched on {o.device}: it {o.limited_by}"
              for f in facts for o in f.occupancies() if not o.blocks]
    codes = [problem.code for problem in problems]
    codes += [ExitCode.WRONG_RESULT if c.holds is False else ExitCode.UNDECIDED for c in checks if not c.holds]
    code = worst(codes)
    document = {
        "kernel": str(path),
        "kernels": [f.document() for f in facts],
        "problems": [str(problem) for problem in problems],
        "targets": targets,
        "left_out": optional,
        "expect": [vars(c) for c in checks],
        "environment": environment.describe(),
    }
    if keep:
        notes.append(f"PTX and SASS are in {keep}: {_keep(facts, keep)} files")
    archs_seen = list(dict.fromkeys(f.kernel.arch for f in facts))
    return Report(
        tool="inspect_kernel",
        verdict=TITLES[code],
        exit_code=code,
        document=document,
        summary={
            "kernel": path.name,
            "archs": ",".join(archs_seen),
            "kernels": len(facts),
            "expect": len(checks) or None,
        },
        tables=tables(facts, checks),
        findings=findings,
        notes=list(dict.fromkeys(notes)),
    )


def _left_out(clean: list[str], failed: dict[str, list[capture.CaptureError]]) -> list[str]:
    """Default targets that the kernel is not for, as fp8 is not for sm_80: it does not compile, or refuses to."""
    refusals = (ExitCode.COMPILE_ERROR, ExitCode.UNDECIDED)
    return [arch for arch, problems in failed.items() if clean and all(p.code in refusals for p in problems)]


def _told(problems: list[capture.CaptureError]) -> list[str]:
    """A sentence and its traceback once, however many cases and targets it befalls."""
    alike: dict[tuple, list[str]] = {}
    for problem in problems:
        where, bracket, said = str(problem).partition(") ")
        alike.setdefault((said, problem.detail) if bracket else (where, problem.detail), []).append(str(problem))
    told = []
    for (_, detail), (first, *others) in alike.items():
        also = f" (and {len(others)} times more)" if others else ""
        told.append(f"{first}{also}\n{detail}".rstrip())
    return told


def tables(facts: list[Facts], checks: list[expect.Finding]) -> list[Table]:
    resources = ["arch", "kernel", "cases", "threads", "cluster", "registers", "spill bytes", "stack", "static smem",
                 "dynamic smem"]
    families, accesses = ("tensor core", "TMA", "ldmatrix", "local"), ("load bytes in flight", "global stores")
    instructions = ["arch", "kernel", "sass instructions", "global loads", *accesses, *families]
    occupied = ["arch", "kernel", "device", "ctas per sm", "warps", "percent", "limited by"]
    rows = [
        [[f.kernel.arch, f.label, ",".join(f.kernel.cases), f.threads, "x".join(map(str, f.cluster)), f("registers"),
          f("spill_bytes"), f("stack_bytes"), f("static_shared_bytes"), f("dynamic_shared_bytes")] for f in facts],
        [[f.kernel.arch, f.label, f.sass.mnemonics.total(), _widest(f, ("LDG", "LDGSTS")), f("load_bytes_in_flight"),
          _widest(f, ("STG",)), *(_family(f, family) for family in families)] for f in facts if f.sass],
        [row for f in facts for row in _occupied(f)],
        [[c.arch, c.fact, c.rule, c.found, c.where, c.holds] for c in checks],
    ]
    columns = (resources, instructions, occupied, ["arch", "fact", "rule", "found", "where", "holds"])
    titles = ("kernel", "instructions", "occupancy", "expect")
    return [Table(title, names, row, key=title) for title, names, row in zip(titles, columns, rows, strict=True) if row]


def _occupied(f: Facts) -> list[list]:
    """A row for the devices on which the kernel's occupancy is the same."""
    alike: dict[tuple, list[str]] = {}
    for o in f.occupancies():
        alike.setdefault((o.blocks, o.warps, round(100 * o.fraction), o.limited_by), []).append(o.device)
    return [[f.kernel.arch, f.label, ",".join(names), *cells] for cells, names in alike.items()]


def compare(one: Report, other: Report) -> Table:
    """The facts of two reports side by side: the kernels of each arch's first case, where they differ."""
    rows = []
    for arch in dict.fromkeys(k["arch"] for k in one.document["kernels"]):
        left, right = ([k for k in report.document["kernels"] if k["arch"] == arch] for report in (one, other))
        for i in range(max(len(left), len(right))):
            a, b = (side[i] if i < len(side) else None for side in (left, right))
            name = " / ".join(k["label"] if k else "-" for k in (a, b))
            for fact in (*expect.RESOURCES, *sorted({m for k in (a, b) if k for m in k["sass"] or ()})):
                values = [
                    k and (k[fact] if fact in expect.RESOURCES else (k["sass"] or {}).get(fact, 0)) for k in (a, b)
                ]
                if values[0] != values[1]:
                    rows.append([arch, name, fact, *values])
    return Table("difference", ["arch", "kernels", "fact", "this", "other"], rows, key="difference")


def _widest(f: Facts, names: tuple[str, ...]) -> str:
    """Accesses by mnemonic and bits, widest first: ``2 LDG.128 16 LDG.16``."""
    return " ".join(f"{a.count} {a.mnemonic}.{a.bits}" for a in f.sass.accesses() if a.mnemonic in names) or "0"


def _family(f: Facts, name: str) -> str:
    return " ".join(f"{count} {mnemonic}" for mnemonic, count in f.sass.family(name).most_common(3)) or "0"


def _keep(facts: list[Facts], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for f in facts:
        stem = f"{f.kernel.arch}-{''.join(c if c.isalnum() or c in '-_#' else '_' for c in f.label)}"
        for suffix, content in (
            ("ptx", f.kernel.ptx),
            ("cubin", f.kernel.cubin),
            ("sass", sass.disassemble(f.kernel.cubin) if f.kernel.cubin else None),
        ):
            if content:
                (folder / f"{stem}.{suffix}").write_bytes(content if isinstance(content, bytes) else content.encode())
                count += 1
    return count
