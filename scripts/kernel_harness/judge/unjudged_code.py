"""Code that a file's large cases launch and no simulated one does. Host code picks tiles by size and by the number of
multiprocessors, so the numbers of small cases may say nothing about it; on a GPU of few of them they say more."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from ..cli import UsageError
from ..compiled import capture, kernel_facts, ptx
from ..contract import ContractError, read_source
from ..simulation import INPUT_BYTES
from .outcome import Outcome

LARGEST_CLUSTER = 8  # of the portable sizes
MOST_CASES = 12  # that are compiled to see what they launch
SECONDS = 60.0  # for each of them
SEARCH_SECONDS = 30.0  # for the sizes at which one of them is small and launches the same
COUNTS = ("multi_processor_count", "multiprocessor_count", "get_max_active_clusters", "sm_count")
DECISIVE = ("values", "simulation", "race", "cta-order")  # to raise there is no wrong answer


def of_large_cases(outcome: Outcome, arch: str) -> dict[str, set[str]]:
    """{case: digests} of the code for ``arch`` that ``outcome``, of a simulation, did not judge."""
    known, kernel = outcome.facts, outcome.settings.kernel
    large = list(dict.fromkeys([*known.get("bench_cases", ()), *known.get("too_large", ())]))[:MOST_CASES]
    if not large or outcome.settings.cases or not known.get("simulated_code"):
        return {}
    try:
        (captured,) = capture.capture(kernel, (arch,), large, SECONDS)
    except (capture.CaptureError, ContractError, UsageError) as error:
        outcome.note(f"whether the large cases launch other code than the small ones was not seen: {error}"[:300])
        return {}
    for facts in kernel_facts.labelled(captured.kernels, kernel.stem):
        for spilled in kernel_facts.spill_notes(facts):
            outcome.note(f"[case {', '.join(sorted({launch.case for launch in facts.kernel.launches}))}] {spilled}")
    others: dict[str, set[str]] = {}
    for compiled in captured.kernels:
        if compiled.ptx and (code := ptx.digest(compiled.ptx)) not in known["simulated_code"]:
            for launch in compiled.launches:
                others.setdefault(launch.case, set()).add(code)
    return {case: others[case] for case in large if case in others}


def smaller_cases(outcome: Outcome, others: dict[str, set[str]], arch: str) -> dict[str, dict]:
    """Changed keywords of the large cases that make them small, and let them launch the code that was not judged."""
    judged = set(outcome.facts.get("simulated_code", ()))
    wanted = {case: codes - judged for case, codes in others.items() if codes - judged}
    if not wanted or outcome.findings:
        return {}
    try:
        return capture.smaller(outcome.settings.kernel, arch, wanted, INPUT_BYTES, SECONDS, SEARCH_SECONDS)
    except (capture.CaptureError, ContractError) as error:
        outcome.note(f"smaller sizes at which the large cases launch their code were not found: {error}"[:300])
        return {}


def take_in_smaller(outcome: Outcome, resized: Outcome) -> None:
    """What a simulation of the large cases at smaller sizes found, and which code it judged."""
    outcome.findings += resized.findings
    outcome.comparisons += resized.comparisons
    for note in resized.notes:
        outcome.note(note)
    outcome.facts.setdefault("shrunk", {}).update(resized.facts.get("shrunk", {}))
    known = {*outcome.facts.get("simulated_code", ()), *resized.facts.get("simulated_code", ())}
    outcome.facts["simulated_code"] = sorted(known)


def asks_for_multiprocessors(kernel: Path) -> bool:
    """Does the file name their number? Then a persistent kernel may give each CTA several tiles where they are few."""
    return any(word in read_source(kernel)[0] for word in COUNTS)


def few_multiprocessors(kernel: Path, kernels: list[dict]) -> int:
    """How many are few for a file whose first case compiled ``kernels``: one, or as many as the largest cluster needs.
    Other cases may launch clusters, too: then the file names them."""
    has_clusters = any(math.prod(launch["cluster"] or (1,)) > 1 for k in kernels for launch in k["launches"])
    return LARGEST_CLUSTER if has_clusters or "cluster" in read_source(kernel)[0] else 1


def take_in(outcome: Outcome, few: Outcome) -> None:
    """What a simulation on a GPU of few multiprocessors found, and which code it judged."""
    count = few.settings.simulate["multiprocessors"]
    where = f"On a GPU of {count} multiprocessor{'s' if count > 1 else ''}:"
    found = [finding for finding in few.findings if finding.check in DECISIVE]
    outcome.findings += [replace(finding, text=f"{where} {finding.text}") for finding in found]
    for finding in few.findings:
        if finding not in found:
            outcome.note(f"[case {finding.case}] {where} {finding.text[:200]} That is no wrong answer")
    cases = outcome.facts["few_multiprocessors"] = few.facts.get("simulated_cases", [])
    outcome.note(f"simulated on a GPU of {count} multiprocessor{'s' if count > 1 else ''}, too: {len(cases)} cases")
    known = {*outcome.facts.get("simulated_code", ()), *few.facts.get("simulated_code", ())}
    outcome.facts["simulated_code"] = sorted(known)


def note(outcome: Outcome, others: dict[str, set[str]]) -> None:
    """Say which of the code of the large cases is not among what was judged."""
    judged = set(outcome.facts.get("simulated_code", ()))
    left = {case: sorted(found - judged) for case, found in others.items()}
    left = {case: codes for case, codes in left.items() if codes}
    outcome.facts["unjudged_code"] = left
    if left and not outcome.findings:  # else it is wrong anyway
        count = len({code for codes in left.values() for code in codes})
        outcome.note(
            f"{', '.join(left)}: they launch {count} kernels that no simulated case did, whose numbers were not "
            "judged: host code picks them by size. Run tune_kernel.py --case SMALL, which simulates each configuration "
            "of TUNING_SPACE on one small case, or let get_inputs pass one on and give TEST_CASES such cases"
        )
