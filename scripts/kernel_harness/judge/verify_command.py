"""verify_kernel.py behind its arguments: settings in, a report and an exit code out."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from .. import cli, contract, devices, environment, report, simulation
from ..processes import worker
from ..report import Report, Table
from ..verdict import MEANING, ExitCode, worst
from . import sanitize, second_look, startup, told, unjudged_code
from .outcome import Outcome, Settings
from .verification import verify

SLOWER = 5  # times as long as a GPU may take, a call in the simulator may take


def run(options) -> ExitCode:
    """Verify as the command line asks and print the report."""
    archs = tuple(options.arch)
    for name in ("rtol", "atol"):
        value = getattr(options, name)
        if value is not None and not (value >= 0 and math.isfinite(value)):
            raise cli.UsageError(f"--{name} {value} is not a number of zero or more")
    settings = Settings(
        kernel=options.kernel,
        reference=options.reference,
        level=options.level,
        cases=tuple(options.case),
        seeds=options.seeds,
        rtol=options.rtol,
        atol=options.atol,
        timeout=options.timeout,
    )
    sanitizer = _sanitizer() if options.sanitize else None
    if options.compile_only:
        return _compile_only(options, archs, time.monotonic())
    started = time.monotonic()
    if options.simulate or options.multiprocessors:
        asked = Outcome(settings, needs_gpu="a simulation was asked for")
        return _without_gpu(options, settings, archs, started, asked)
    progress = report.Progress()
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        look = stack.enter_context(second_look.SecondLook(settings)) if second_look.is_worth_it(settings) else None
        surroundings = pool.submit(environment.describe)  # nvidia-smi takes a second, and the workers import meanwhile
        compiled = pool.submit(instruction_facts, options)
        try:
            outcome = verify(settings, progress.step)
            if sanitizer and not outcome.findings:
                _sanitize(sanitizer, outcome, progress.step)
            is_over = bool(outcome.findings or outcome.needs_gpu)
            if not look and not is_over and second_look.is_owed(outcome):
                look = stack.enter_context(second_look.SecondLook(settings, second_look.LATE_SECONDS))
            if look and not is_over:
                progress.step("second look, in the simulator")
                look.add_to(outcome)
                gpu = surroundings.result()["gpu"]
                note_other_code(outcome, look.kernels, gpu["compute_capability"] if gpu else "0.0")
        except BaseException:  # Ctrl-C above all: the pool would wait for a compilation that nobody wants any more
            for child in worker.descendants(os.getpid()):
                worker.kill_tree(child)
            raise
        finally:
            progress.close()
    if outcome.needs_gpu and not outcome.findings:
        return _without_gpu(options, settings, archs, started, outcome)
    judged = verified(outcome, time.monotonic() - started, surroundings.result())
    return report.emit(with_facts(judged, compiled.result()), options.format, options.output)


def _sanitizer() -> str:
    """The program for --sanitize; UndecidedError where it cannot run."""
    program = sanitize.find()
    if not environment.gpus():
        raise cli.UndecidedError("--sanitize needs an NVIDIA GPU, and this machine has none")
    if program is None:
        raise cli.UndecidedError(
            "--sanitize needs compute-sanitizer: install the CUDA toolkit, or put its bin folder on PATH"
        )
    return program


def _sanitize(program: str, outcome: Outcome, step) -> None:
    """Run the tools on the smallest case; memcheck and initcheck decide, the others are notes."""
    settings = outcome.settings
    case = settings.cases[0] if settings.cases else outcome.facts["smallest_case"]
    step(f"{case}: compute-sanitizer")
    for result in sanitize.run(program, settings.kernel, case, settings.timeout * 5):
        if result.decides and result.errors is None:
            outcome.add("sanitizer", f"{result.text}.", case, code=ExitCode.UNDECIDED)
        elif result.decides and result.errors:
            outcome.add("sanitizer", f"{result.tool} reports {result.errors} errors; first: {result.text}.", case)
        elif result.errors is None:
            outcome.note(f"[case {case}] {result.text}")
        elif result.errors:
            doubt = {
                "racecheck": "; it also reports TMA copies that an mbarrier orders, so look before you act",
                "initcheck": "; it does not see what TMA stores write, and this kernel has some",
            }.get(result.tool, "")
            seen = f"{result.tool} reports {result.errors} errors or hazards ({result.text})"
            outcome.note(f"[case {case}] {seen}{doubt}")
        outcome.facts.setdefault("sanitizer", {})[result.tool] = result.errors


def verified(outcome: Outcome, seconds: float, surroundings: dict) -> Report:
    """The report of a verification that ran."""
    code = outcome.verdict
    ordered = sorted(outcome.findings, key=lambda f: f.code != code)
    document = {
        "kernel": str(outcome.settings.kernel),
        "sha256": outcome.facts.get("sha256"),
        "level": outcome.settings.level,
        "seconds": round(seconds, 2),
        "seed": outcome.facts.get("seed"),
        "reasons": [{"check": f.check, "case": f.case, "exit_code": int(f.code), "text": f.text} for f in ordered],
        "comparisons": outcome.comparisons,
        "facts": outcome.facts,
        "environment": surroundings,
    }
    trials = len(outcome.comparisons)
    worst_used = max((c["budget_used"] for c in outcome.comparisons), default=None)
    return Report(
        tool="verify_kernel",
        verdict=_verdict(code),
        exit_code=code,
        document=document,
        summary={
            "kernel": Path(outcome.settings.kernel).name,
            "level": outcome.settings.level,
            "comparisons": trials,
            "budget_used": worst_used,
            "seconds": round(seconds, 1),
        },
        tables=[
            Table("", ["case", "outputs", "trials", "max error", "budget used", "worst trial", "ok"], _rows(outcome))
        ],
        findings=told.once(map(str, ordered)),
        notes=told.once(outcome.notes),
        next_steps=[cli.command("benchmark_kernel.py", outcome.settings.kernel)] if code is ExitCode.PASS else (),
    )


def _rows(outcome: Outcome) -> list[list]:
    """One row a case: how many trials it went through and the one that came closest to the bound, or broke it."""
    rows, found = [], {finding.case for finding in outcome.findings}
    for case in dict.fromkeys(c["case"] for c in outcome.comparisons):
        mine = [c for c in outcome.comparisons if c["case"] == case]
        worst_one = max(mine, key=lambda c: (not c["passed"], c["budget_used"]))
        compared = sorted(mine, key=lambda c: (len(c["path"]), c["path"]))  # integers came first, whatever their place
        outputs = {c["path"]: f"{c['dtype']}{c['shape']}" for c in compared}
        rows.append(
            [
                case,
                " ".join(outputs.values()),
                len(dict.fromkeys(c["trial"] for c in mine)),
                worst_one["max_error"],
                worst_one["budget_used"],
                worst_one["trial"] + (f", output {worst_one['path']}" if worst_one["path"] else ""),
                all(c["passed"] for c in mine) and case not in found,
            ]
        )
    return rows


def _verdict(code: ExitCode) -> str:
    return {
        ExitCode.CONTRACT: "CONTRACT",
        ExitCode.UNDECIDED: "UNDECIDED",
        ExitCode.CRASH: "CRASH",
        ExitCode.COMPILE_ERROR: "DOES NOT COMPILE",
    }.get(code, MEANING[code].split(" or ")[0].upper())


def _compile(options, archs: tuple[str, ...], step=lambda text: None) -> Report:
    from ..compiled import capture, inspection

    cases = tuple(options.case) or capture.FIRST
    return inspection.inspect(options.kernel, archs=archs, cases=cases, timeout=options.timeout, progress=step)


def instruction_facts(options) -> Report | None:
    """EXPECT against the code for this machine's GPU; None at level quick, without a GPU, or without EXPECT."""
    if options.level == "quick" or "EXPECT" not in contract.read_source(options.kernel)[0]:
        return None
    capabilities = [tuple(map(int, gpu["compute_capability"].split("."))) for gpu in environment.gpus()]
    archs = [arch for arch in contract.KNOWN_ARCHS if devices.capability(arch) in capabilities[:1]]
    archs.sort(key=lambda arch: not arch.endswith("a"))  # sm_90a rather than sm_90
    if not archs:
        return None
    compiled = _compile(options, (archs[0],))
    return compiled if options.case else _in_all_cases(options, compiled, archs[0])


def _in_all_cases(options, compiled: Report, arch: str) -> Report:
    from ..compiled import forbidden

    return forbidden.held_in_all_cases(compiled, options.kernel, arch, options.timeout)


def with_facts(judged: Report, compiled: Report | None) -> Report:
    """A verdict on the GPU that knows of missed EXPECTs; a file that cannot be compiled apart from its run says so."""
    if compiled is None:
        return judged
    if compiled.document["problems"] or compiled.exit_code is ExitCode.UNDECIDED:
        reasons = compiled.document["problems"] or compiled.findings
        return replace(judged, notes=[*judged.notes, f"EXPECT was not checked: {reasons[0]}"])
    code = worst((judged.exit_code, compiled.exit_code))
    return replace(
        judged,
        exit_code=code,
        verdict=judged.verdict if judged.exit_code is code else compiled.verdict,
        document={**judged.document, "reasons": _all_reasons(judged, compiled), "compiled": compiled.document},
        findings=[*judged.findings, *compiled.findings],
        next_steps=judged.next_steps if code is ExitCode.PASS else (),
    )


def _all_reasons(judged: Report, compiled: Report) -> list[dict]:
    common = {"check": "expect", "case": "", "exit_code": int(compiled.exit_code)}
    return [*judged.document["reasons"], *({**common, "text": text} for text in compiled.findings)]


def _compile_only(options, archs: tuple[str, ...], started: float) -> ExitCode:
    """What --compile-only asks for: the file's targets and its instruction facts; a clean compile exits 0."""
    result = _compile(options, archs)
    verdict = "COMPILED" if result.exit_code is ExitCode.PASS else result.verdict
    summary = {"kernel": options.kernel.name, "seconds": round(time.monotonic() - started, 1)}
    return report.emit(
        replace(result, tool="verify_kernel", verdict=verdict, summary=summary), options.format, options.output
    )


def _without_gpu(options, settings: Settings, archs: tuple[str, ...], started: float, asked: Outcome) -> ExitCode:
    """No GPU: compile, check the instruction facts, then run the PTX of the small cases in the simulator."""
    with ExitStack() as stack:  # what simulates imports PyTorch while others compile
        place = None if simulation.possible() else stack.enter_context(startup.workplace())
        return _compiled_and_simulated(options, settings, archs, started, asked, place)


def _compiled_and_simulated(options, settings: Settings, archs: tuple[str, ...], started: float, asked: Outcome,
                            place) -> ExitCode:
    """A miss of EXPECT does not end it: whether the numbers are right is another question."""
    progress = report.Progress()
    compiled = _compile(options, archs, progress.step)
    progress.close()
    if compiled.document["problems"]:
        return report.emit(replace(compiled, tool="verify_kernel"), options.format, options.output)
    reason, simulated = simulation.possible(), None
    targets = set(compiled.document["targets"]) - set(compiled.document["left_out"])
    arch = next((a for a in simulation.ARCHS if a in targets), None)
    if not reason and arch is None:
        reason = "none of the file's ARCHS can be simulated"
    if not reason:
        device = {"arch": arch, "multiprocessors": options.multiprocessors}
        simulated = _simulate(settings, device, progress.step, place)
        if settings.level != "quick" and not simulated.findings and not simulated.needs_gpu:
            if not options.case:
                progress.step("EXPECT in all cases")
                compiled = _in_all_cases(options, compiled, arch)
            for other in of_other_code(compiled.document["kernels"], arch):
                further = _simulate(replace(settings, level="quick"), {**device, "arch": other}, _of(progress, other))
                _take_in(simulated, further, other)
            if not options.multiprocessors:
                progress.step("code of the large cases")
                others = unjudged_code.of_large_cases(simulated, arch)
                if others or unjudged_code.asks_for_multiprocessors(settings.kernel):
                    count = unjudged_code.few_multiprocessors(settings.kernel, compiled.document["kernels"])
                    few, step = {**device, "multiprocessors": count}, _of(progress, f"a GPU of {count} multiprocessors")
                    unjudged_code.take_in(simulated, _simulate(replace(settings, level="quick"), few, step))
                if resized := unjudged_code.smaller_cases(simulated, others, arch):
                    small = replace(settings, level="quick", resized=resized)
                    step = _of(progress, "large cases, shrunk")
                    unjudged_code.take_in_smaller(simulated, _simulate(small, device, step))
                unjudged_code.note(simulated, others)
        progress.close()
        done = simulated.facts.get("simulated_cases")
        sizes = simulated.facts.get("too_large", {})
        large = ", ".join(f"{case} ({size >> 10} KiB of inputs)" for case, size in sizes.items())
        most = f"{simulation.INPUT_BYTES >> 10} KiB"
        if done and simulated.needs_gpu:
            simulated.add("not-simulated", f"{simulated.needs_gpu}: this case and those after it were not judged.")
        if done or simulated.findings:
            if large:
                simulated.note(f"too large to simulate, not judged: {large}; {most} are the most")
            return report.emit(
                _simulated(simulated, compiled, device, time.monotonic() - started), options.format, options.output
            )
        reason = simulated.needs_gpu or " ".join(
            [
                f"no case is small enough to simulate ({large}); add one of {most} to TEST_CASES." if large else "",
                *simulated.notes,
            ]
        )
    notes = [
        *compiled.notes,
        f"not run: {asked.needs_gpu}. Not simulated: {reason}. Numbers were not checked: run this on a "
        "machine with an NVIDIA GPU, or ask for this verdict by name with --compile-only",
    ]
    return report.emit(
        replace(
            compiled,
            tool="verify_kernel",
            verdict=compiled.verdict if compiled.findings else "COMPILED, NOT RUN",
            exit_code=worst((compiled.exit_code, ExitCode.UNDECIDED)),
            notes=notes,
            summary={"kernel": options.kernel.name, "seconds": round(time.monotonic() - started, 1)},
        ),
        options.format,
        options.output,
    )


def _of(progress, what: str) -> Callable[[str], None]:
    """Steps of a pass that follows the first one."""
    return lambda text: progress.step(f"{what}: {text}")


def _simulate(settings: Settings, device: dict, step, place=None) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="simulated-") as folder:  # its users are killed, and remove nothing
        # A deadlock is found as one there: time says only that the simulator is slow.
        slower = replace(settings, simulate={**device, "folder": folder}, timeout=SLOWER * settings.timeout)
        return verify(slower, step, place)


def of_other_code(kernels: list[dict], judged: str) -> list[str]:
    """Of the targets whose PTX is another than that of the one that was judged, one for each."""
    code = {arch: {k["ptx_digest"] for k in kernels if k["arch"] == arch} for arch in simulation.ARCHS}
    known, found = [code[judged]], []
    for arch, digests in code.items():
        if digests and digests not in known:
            known.append(digests)
            found.append(arch)
    return found


def note_other_code(outcome: Outcome, kernels: list[dict], gpu: str) -> None:
    """Say which code that the file promises did not run. gpu: the compute capability of the one that ran it, as 9.0."""
    mine = [k["arch"] for k in kernels if devices.capability(k["arch"]) == tuple(map(int, gpu.split(".")))]
    is_promised = "ARCHS" in contract.read_source(outcome.settings.kernel)[0]
    if mine and is_promised and (others := of_other_code(kernels, mine[0])):
        seen = f"the code for {', '.join(others)} of the file's ARCHS is another than this GPU's, and did not run"
        outcome.note(f"{seen}; --simulate judges it")


def _take_in(outcome: Outcome, further: Outcome, arch: str) -> None:
    """What was found of the code for another target."""
    outcome.findings += [replace(found, text=f"In the code for {arch}: {found.text}") for found in further.findings]
    if further.findings or further.facts.get("simulated_cases"):
        outcome.facts.setdefault("other_archs", []).append(arch)
    if further.needs_gpu or arch not in outcome.facts.get("other_archs", ()):
        why = further.needs_gpu or "no case was simulated"
        outcome.note(f"the code for {arch} is another, and was not all simulated: {why}")


def _simulated(outcome: Outcome, compiled: Report, device: dict, seconds: float) -> Report:
    """The report of a simulated verification: values, memory and repeatability, not time and not real scheduling."""
    judged = verified(outcome, seconds, environment.describe())
    code = worst((judged.exit_code, compiled.exit_code))
    passed, archs = code is ExitCode.PASS, [device["arch"], *outcome.facts.get("other_archs", ())]
    return replace(
        judged,
        verdict="SIMULATED" if passed else judged.verdict if judged.exit_code is code else compiled.verdict,
        exit_code=code,
        summary={**judged.summary, "simulated": ",".join(archs), "multiprocessors": device["multiprocessors"]},
        document={
            **judged.document,
            "reasons": _all_reasons(judged, compiled),
            "simulated": device["arch"],
            "multiprocessors": device["multiprocessors"],
            "compiled": compiled.document,
        },
        tables=[*(t for t in compiled.tables if t.title in ("kernel", "instructions")), *judged.tables],
        findings=[*judged.findings, *compiled.findings],
        notes=told.once([*compiled.notes, *judged.notes]),
        next_steps=(),
    )
