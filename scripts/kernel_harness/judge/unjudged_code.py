"""Code that a file's large cases launch and no simulated one does. Host code picks tiles by size and by the number of
multiprocessors, so the numbers of small cases may say nothing about it; on a GPU of few of them they say more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..cli import UsageError
from ..compiled import capture, ptx
from ..contract import ContractError, read_source
from .outcome import Outcome

FEW_MULTIPROCESSORS = 8  # a cluster of the largest portable size still fits
MOST_CASES = 12  # that are compiled to see what they launch
SECONDS = 60.0  # for each of them
COUNTS = ("multi_processor_count", "multiprocessor_count", "get_max_active_clusters", "sm_count")
DECISIVE = ("values", "simulation", "race", "cta-order")  # to raise there is no wrong answer


def of_large_cases(outcome: Outcome, arch: str) -> dict[str, set[str]]:
    """{case: digests} of the code for ``arch`` that ``outcome``, of a simulation, did not judge."""
    facts, kernel = outcome.facts, outcome.settings.kernel
    large = list(dict.fromkeys([*facts.get("bench_cases", ()), *facts.get("too_large", ())]))[:MOST_CASES]
    if not large or outcome.settings.cases or not facts.get("simulated_code"):
        return {}
    try:
        (captured,) = capture.capture(kernel, (arch,), large, SECONDS)
    except (capture.CaptureError, ContractError, UsageError) as error:
        outcome.note(f"whether the large cases launch other code than the small ones was not seen: {error}"[:300])
        return {}
    others: dict[str, set[str]] = {}
    for compiled in captured.kernels:
        if compiled.ptx and (code := ptx.digest(compiled.ptx)) not in facts["simulated_code"]:
            for launch in compiled.launches:
                others.setdefault(launch.case, set()).add(code)
    return {case: others[case] for case in large if case in others}


def asks_for_multiprocessors(kernel: Path) -> bool:
    """Does the file name their number? Then a persistent kernel may give each CTA several tiles where they are few."""
    return any(word in read_source(kernel)[0] for word in COUNTS)


def take_in(outcome: Outcome, few: Outcome) -> None:
    """What a simulation on a GPU of few multiprocessors found, and which code it judged."""
    where = f"On a GPU of {FEW_MULTIPROCESSORS} multiprocessors:"
    found = [finding for finding in few.findings if finding.check in DECISIVE]
    outcome.findings += [replace(finding, text=f"{where} {finding.text}") for finding in found]
    for finding in few.findings:
        if finding not in found:
            outcome.note(f"[case {finding.case}] {where} {finding.text[:200]} That is no wrong answer")
    outcome.facts["few_multiprocessors"] = few.facts.get("simulated_cases", [])
    known = {*outcome.facts.get("simulated_code", ()), *few.facts.get("simulated_code", ())}
    outcome.facts["simulated_code"] = sorted(known)


def note(outcome: Outcome, others: dict[str, set[str]]) -> None:
    """Say which of the code of the large cases is not among what was judged."""
    judged = set(outcome.facts.get("simulated_code", ()))
    left = {case: sorted(found - judged) for case, found in others.items()}
    left = {case: codes for case, codes in left.items() if codes}
    outcome.facts["unjudged_code"] = left
    if left:
        count = len({code for codes in left.values() for code in codes})
        outcome.note(
            f"{', '.join(left)}: they launch {count} kernels that no simulated case did, whose numbers were not "
            "judged: host code picks them by size. Give TEST_CASES a small case for each (one whose get_inputs passes "
            "the configuration on), or run tune_kernel.py"
        )
