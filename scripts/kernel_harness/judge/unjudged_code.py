"""Which code a file's large cases launch that no simulated one does: host code picks tiles by size, so the numbers of
small cases may say nothing about them."""

from __future__ import annotations

from ..cli import UsageError
from ..compiled import capture, ptx
from ..contract import ContractError
from .outcome import Outcome

MOST_CASES = 12  # that are compiled to see it
SECONDS = 60.0  # for each of them


def note(outcome: Outcome, arch: str) -> None:
    """A note on the first large cases that launch other code than what ``outcome``, of a simulation, judged."""
    facts, kernel = outcome.facts, outcome.settings.kernel
    large = list(dict.fromkeys([*facts["bench_cases"], *facts.get("too_large", ())]))[:MOST_CASES]
    if not large or outcome.settings.cases:
        return
    try:
        (captured,) = capture.capture(kernel, (arch,), large, SECONDS)
    except (capture.CaptureError, ContractError, UsageError) as error:
        outcome.note(f"whether the large cases launch other code than the small ones was not seen: {error}"[:300])
        return
    judged, others = set(facts["simulated_code"]), {}
    for compiled in captured.kernels:
        if compiled.ptx and compiled.launches and ptx.digest(compiled.ptx) not in judged:
            for case in dict.fromkeys(launch.case for launch in compiled.launches):
                others.setdefault(case, set()).add(compiled.name)
    facts["unjudged_code"] = {case: sorted(names) for case, names in others.items()}
    if others:
        count = len({name for names in others.values() for name in names})
        outcome.note(
            f"{', '.join(others)}: they launch code that no simulated case did ({count} other kernels, by size or "
            "configuration), whose numbers were not judged. Give TEST_CASES a small case of each, or let "
            "--multiprocessors 16, then 1, pick other tiles for the small ones"
        )
