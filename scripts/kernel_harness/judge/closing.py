"""What can only be said of a file once every case ran."""

from __future__ import annotations

from .device_trials import ask_without_launches


def check(judge) -> None:
    """Results that changed later, checks that had no teeth, a result that PyTorch computes."""
    outcome = judge.outcome
    judge.recheck()
    ask_without_launches(judge)
    compared = any(c["total"] for c in outcome.comparisons) or outcome.facts.get("numbers")
    if not compared and not outcome.facts.get("too_large") and not outcome.findings:
        outcome.add("no-teeth", "No element was compared in any case: the results are empty.")
    toothless = sorted({name for (_, name), passed in judge.teeth.items() if all(passed)})
    if toothless and not any(found.case for found in outcome.findings):  # a case that failed was not asked
        outcome.add("no-teeth", f"A kernel that returns {' or '.join(toothless)} would pass the comparison, too.")
    if len(judge.declared["cases"]) == 1 and outcome.facts.get("own_kernels") is not False:
        outcome.note("one case: no other size, no tail and no empty input was judged; TEST_CASES names more")
    if outcome.facts.get("own_kernels") is False and not outcome.facts.get("kernels_defined"):
        outcome.note("kernel_fn launches no kernel of its own: this is PyTorch against PyTorch")
