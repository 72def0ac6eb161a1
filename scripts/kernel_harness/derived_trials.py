"""Trials on sizes that lie between those of the file's cases (between.py)."""

from __future__ import annotations

from contextlib import suppress

from .contract import ContractError
from .structure import finite
from .trials import CaseTrials
from .worker import Worker, WorkerError

MOST_SIZES = 3
INPUT_BYTES = 2 * 2**20


def run(judge) -> None:
    """Where the file's cases show several sizes of an argument: is the kernel right, or does it refuse, between them?

    A kernel that raises, or whose process ends, has not given a wrong answer.
    """
    if judge.outcome.findings:
        return
    groups = judge.ask_oracle("add_between", limit=INPUT_BYTES)["groups"][:MOST_SIZES]
    if groups:
        with suppress(WorkerError, ContractError), judge.another_candidate(interpret=judge.interprets) as other:
            for names in groups:
                any(_BetweenTrial(judge, name, thorough=False).is_judged(other) for name in names)


class _BetweenTrial(CaseTrials):
    def is_judged(self, other: Worker) -> bool:
        """False where the reference does not take these sizes."""
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
            self.outcome.note(f"[{self.case}] kernel_fn gives no result")
        elif self._failed_quietly(reply, expected):
            self.outcome.add("sizes-between", f"{self._worst(reply, expected)}.", self.case)
        self.judge.remove_files()
        return True
