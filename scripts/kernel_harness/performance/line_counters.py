"""What each line of a kernel moves, counted in one simulated call: bytes, sectors, bank conflicts.

The call runs in a process of its own, as the simulator sets the compile target before cutlass is imported; that process
needs numpy and torch, ``collect`` the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import simulation
from ..compiled.kernel_facts import short_name
from ..processes.worker import run_tree
from .profiling import Diagnosis

BOOTSTRAP = ("import sys; sys.path.insert(0, sys.argv.pop(1)); from kernel_harness.performance import line_counters; "
             "line_counters.main(*sys.argv[1:])")
COUNTED = {"ctas": ("ctas",), "instructions": ("instructions",),
           "global_bytes": ("global_bytes_read", "global_bytes_written")}
UNITS = {"global": "sectors", "shared": "wavefronts"}
COLUMNS = ("line", "memory", "requests", "bytes", "transfers", "unit", "least", "ratio")
TOTALS = ("kernel", "launches", "ctas", "warp_instructions", "global_bytes", "instructions_per_byte")
WORTH_TELLING = 1.5    # times the least number of transfers
SHARE = 0.05           # of the transfers of that kind of memory: fewer are not worth a change
BUDGET = 4.5           # SASS instructions a byte at a copy's speed (results/h200-2026-11-23-f692b0e-issue-budget.json)
MANY = 3 * BUDGET      # of PTX, in a small case whose rows have tails: less tells nothing
SHOWN = 0.005          # of them: fewer are not worth a row


def collect(file: Path, case: str, arch: str, timeout_s: float) -> dict:
    """Counters of one call: {"case", "arch", "kernels": [{"kernel", "launches", "ctas", "instructions",
    "global_bytes"}], "lines": [{"line", "space", ...}], "bytes_moved": what the file says of it, or None}.

    The case is ``case`` if its inputs are small enough, else the largest of TEST_CASES that is. A dict
    with "reason" alone, one sentence, where there are no counters.
    """
    with tempfile.TemporaryDirectory(prefix="counters-") as folder:
        answer = Path(folder, "counters.json")
        command = [sys.executable, "-c", BOOTSTRAP, str(Path(__file__).resolve().parents[2]), str(file.absolute()),
                   case, arch, str(answer)]
        code, printed = run_tree(command, timeout_s, {**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        if code is None:
            return {"reason": f"the simulated call took more than {timeout_s:g} s"}
        if not answer.exists():
            return {"reason": (printed.strip().splitlines() or [f"exit code {code}"])[-1]}
        return json.loads(answer.read_text())


def main(file: str, case: str, arch: str, answer: str) -> None:
    """Simulate one call of kernel_fn; the counters go to the file ``answer``."""
    from ..simulator import Profile, driver

    driver.prepare(arch)
    profile = Profile()
    with driver.SimulatedDevice(profile=profile) as device:
        from ..contract import load_kernel

        kernel = load_kernel(file)
        name, inputs = _affordable(kernel, case)
        if inputs is None:
            found = {"reason": f"no test case has at most {simulation.INPUT_BYTES >> 10} KiB of inputs"}
        else:
            kernel.kernel_fn(*inputs)
            lines = [{"line": f"{Path(path or '?').name}:{line}", "space": space, "direction": direction, **row}
                     for (path, line, space, direction), row in profile.lines.items()]
            lines.sort(key=lambda row: (row["space"], -row["transfers"]))
            moved = kernel.bytes_moved(*inputs) if kernel.bytes_moved else None
            kernels = _of_each_kernel(device.launches, file)
            found = {"case": name, "arch": arch, "bytes_moved": moved, "kernels": kernels, "lines": lines}
    Path(answer).write_text(json.dumps(found))


def _of_each_kernel(launches: Sequence, file: str) -> list[dict]:
    found: dict[str, dict] = {}
    for launch in launches:
        label = short_name(launch.kernel, Path(file).stem)
        row = found.setdefault(label, {"kernel": label, "launches": 0, "ctas": 0, "instructions": 0, "global_bytes": 0})
        row["launches"] += 1
        for name, counters in COUNTED.items():
            row[name] += sum(launch.counters.get(counter, 0) for counter in counters)
    return list(found.values())


def _affordable(kernel, case: str) -> tuple[str, list | None]:
    from ..inputs import input_sets
    from ..values import reached_bytes

    def drawn(keywords) -> list | None:
        inputs = input_sets.draw(kernel.get_inputs, dict(keywords), 1)
        return inputs if reached_bytes(inputs) <= simulation.INPUT_BYTES else None

    if (asked := drawn(kernel.all_cases[case])) is not None:
        return case, asked
    small = {name: inputs for name, keywords in kernel.cases.items() if (inputs := drawn(keywords)) is not None}
    name = max(small, key=lambda name: reached_bytes(small[name]), default=case)
    return name, small.get(name)


def totals(counted: Mapping) -> list[tuple]:
    """Cells under TOTALS, a row a kernel of ``collect``. Instructions are PTX's, and per byte those of threads: all
    lanes of a warp count."""
    return [(one["kernel"], one["launches"], one["ctas"], one["instructions"], one["global_bytes"],
             _per_byte(one, counted["bytes_moved"])) for one in counted["kernels"]]


def _per_byte(kernel: Mapping, moved: int | None) -> float | None:
    """Of a byte that the file says must move: what several warps read, a table or a weight, comes from the cache."""
    nbytes = min(kernel["global_bytes"], moved or kernel["global_bytes"])
    return round(32 * kernel["instructions"] / nbytes, 2) if nbytes else None


def rows(lines: Sequence[Mapping]) -> list[tuple]:
    """Cells under COLUMNS, the lines with most transfers first; those with next to none are left out."""
    return [(one["line"], f"{one['space']} {one['direction']}", one["requests"], one["bytes"], one["transfers"],
             UNITS[one["space"]], one["ideal"], round(one["transfers"] / max(one["ideal"], 1), 2))
            for one in lines if one["transfers"] >= SHOWN * _all_of(lines, one["space"])]


def diagnose_issue(counted: Mapping) -> list[Diagnosis]:
    """Kernels that issue many instructions for the bytes they move; of a file without tensor cores."""
    found = []
    for one in counted["kernels"]:
        if (per_byte := _per_byte(one, counted["bytes_moved"]) or 0) >= MANY:
            what = f"{one['kernel']} issues more instructions than its bytes leave time for, if large cases are like it"
            room = f"SASS has room for about {BUDGET:g}, of which few may be special functions (16 a clock and SM)"
            evidence = f"{per_byte:g} PTX instructions a byte in case {counted['case']!r}; {room}"
            found.append(Diagnosis(what, evidence, "references/elementwise.md"))
    return found


def diagnose(lines: Sequence[Mapping]) -> list[Diagnosis]:
    """The lines that transfer much more than they must, of those that matter."""
    found = []
    for one in lines:
        ratio = one["transfers"] / max(one["ideal"], 1)
        if ratio < WORTH_TELLING or one["transfers"] < SHARE * _all_of(lines, one["space"]):
            continue
        evidence = f"{one['transfers']:,} {UNITS[one['space']]} for {one['bytes']:,} bytes, {one['ideal']:,} would do"
        if one["space"] == "global":
            what, page = f"{one['line']} is not coalesced ({one['direction']})", "memory"
        else:
            what, page = f"{one['line']} has bank conflicts ({one['direction']})", "layouts"
        found.append(Diagnosis(what, evidence, f"references/{page}.md"))
    return found


def _all_of(lines: Sequence[Mapping], space: str) -> int:
    return sum(one["transfers"] for one in lines if one["space"] == space)
