"""Cases for the simulator where those of the file are too large, or trivial, and at full where the large ones say more
than sizes (a dtype, a view) that no small one says: derived from them, and named as such."""

from __future__ import annotations

from contextlib import suppress

from ..contract import ContractError
from ..simulation import INPUT_BYTES
from .trials import CaseTrials

TRIVIAL_BYTES = 4096  # of inputs: a file whose small cases are of one element or none is not judged by them alone
SOURCES = 2  # how many of the file's cases are shrunk, where the small ones say little
MODES = 4  # how many are where they do not
REFUSALS = ("ValueError", "AssertionError", "NotImplementedError")


class _Refused(Exception):
    """kernel_fn does not take these sizes."""


class _ShrunkTrials(CaseTrials):
    def _no_result(self, label: str, reply: dict) -> None:
        if label == "first inputs" and str(reply.get("error", "")).startswith(REFUSALS):
            raise _Refused(reply["error"])
        super()._no_result(label, reply)


def run_resized(judge) -> None:
    """Simulate the cases that the settings resize."""
    for case, changes in judge.settings.resized.items():
        made = judge.ask_oracle("resize", case=case, changes=changes)
        with suppress(_Refused, ContractError):  # by this GPU or the reference: the caller sees what was not judged
            _ShrunkTrials(judge, made["name"], thorough=False).run()
            _tell(judge, case, made)


def run(judge) -> None:
    """Simulate small versions of the large cases if the others say little; a note says what became of which."""
    outcome = judge.outcome
    large = list(outcome.facts.get("too_large", ()))
    if outcome.findings or not large:
        return
    if outcome.facts.get("simulated_bytes", 0) > TRIVIAL_BYTES:
        chosen = _of_other_modes(judge, large)[:MODES] if judge.full else []
    else:
        chosen = large[:SOURCES]
    for case in chosen:
        _simulate(judge, case)


def _of_other_modes(judge, large: list[str]) -> list[str]:
    """Of the large cases the first of each mode that no other case has."""
    modes = judge.ask_oracle("modes")["modes"]
    judged = {modes[case] for case in judge.declared["cases"] if case not in large}
    first = {modes[case]: case for case in reversed(large)}
    return [case for case in large if first[modes[case]] == case and modes[case] not in judged]


def _simulate(judge, case: str) -> None:
    """One case: all its arguments halved; if that is refused, all but one of them, those that became smallest first."""
    kept, refusal = [[]], ""
    while kept:
        made = judge.ask_oracle("shrink", case=case, limit=INPUT_BYTES // 2, kept=kept.pop(0))
        if "name" not in made:
            refusal = refusal or made["failed"]
            continue
        try:
            _ShrunkTrials(judge, made["name"], thorough=False).run()
        except (_Refused, ContractError) as error:  # a ContractError is the reference's refusal
            judge.remove_files()
            kept, refusal = kept if refusal else [[name] for name in made["changed"]], str(error)
        else:
            _tell(judge, case, made)
            return
    judge.outcome.note(f"[case {case}] no smaller version can be simulated: {refusal[:200]}")


def _tell(judge, case: str, made: dict) -> None:
    judge.outcome.facts.setdefault("shrunk", {})[made["name"]] = made["changes"]
    judge.outcome.note(f"[case {made['name']}] shrunk from {case}: {made['changes'] or 'as small as it is'}")
