"""Trials in a process of their own: the file's last cases before its first, and sizes that lie between those of its
cases (between.py)."""

from __future__ import annotations

from contextlib import suppress

from ..comparison.structure import finite
from ..contract import ContractError
from ..processes.worker import Worker, WorkerError
from .trials import CaseTrials
from .verification import THOROUGH_BYTES

LAST_CASES = 2
MOST_SIZES = 12
INPUT_BYTES = 2 * 2**20


def run(judge) -> None:
    """Is the kernel right where it meets the first case last: what it keeps of a call (a size compiled in, a workspace)
    may fit whatever comes later in the order of the file. Where the cases show several sizes of an argument: is it
    right, or does it refuse, between them?

    A kernel that raises, or whose process ends, has not given a wrong answer.
    """
    if judge.outcome.findings:
        return
    cases = [] if judge.settings.simulate else _backwards(judge)
    groups = judge.ask_oracle("add_between", limit=INPUT_BYTES)["groups"][:MOST_SIZES]
    if cases or groups:
        with suppress(WorkerError, ContractError), judge.another_candidate(interpret=judge.interprets) as other:
            for name in cases:
                _DerivedTrial(judge, name, thorough=False).is_judged(other, "case-order")
            for names in groups:
                any(_DerivedTrial(judge, name, thorough=False).is_judged(other, "sizes-between") for name in names)


def _backwards(judge) -> list[str]:
    """The last cases, then the first; those that are large are left out."""
    cases = judge.declared["cases"]
    if len(cases) == 1:
        return []
    chosen = [*cases[: -LAST_CASES - 1 : -1], cases[0]] if len(cases) > LAST_CASES else cases[::-1]
    sizes = judge.ask_oracle("nbytes", cases=chosen)["nbytes"]
    return [case for case, size in zip(chosen, sizes, strict=True) if size <= THOROUGH_BYTES]


class _DerivedTrial(CaseTrials):
    def is_judged(self, other: Worker, check: str) -> bool:
        """False where the reference does not take these inputs."""
        first = self._inputs("first")
        self.on_gpu = self.device != "cpu"
        try:
            expected = self._reference(first, "between")
        except ContractError:
            return False
        if not finite(expected):
            return False
        self.base, self.output_nbytes = expected, [span.nbytes for span in expected["native"].bundle.spans]
        reply = self._ask_other(other, self._working_copy(first).bundle, "a", poison="nan")
        if reply is None:
            self.outcome.note(f"[{self.case}] kernel_fn gives no result: {self.error[:160]}")
        elif self._failed_quietly(reply, expected):
            self.outcome.add(check, f"{self._worst(reply, expected)}.", self.case)
        self.judge.remove_files()
        return True
