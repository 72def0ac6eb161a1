"""Trials in a process of their own: the file's last cases before its first, sizes that lie between those of its cases
(between.py), keywords that none sets (unset.py), and other integers for the cases that do not meet every trial."""

from __future__ import annotations

import time
from contextlib import suppress

from ..comparison.structure import finite
from ..contract import ContractError
from ..processes.worker import Worker, WorkerError
from ..values import Bundle
from .trials import CaseTrials
from .verification import THOROUGH_BYTES

LAST_CASES = 2
MOST_SIZES, MOST_KEYWORDS, MOST_UNLIKE = 12, 6, 3
MOST_CASES = 6  # that get other integers
INPUT_BYTES = 2 * 2**20
QUICK_SECONDS = 2.0  # of a call; in the simulator others may take longer
INTEGER_SECONDS = 20.0  # after which no further case gets other integers
ADVICE = "Raise ValueError for such sizes, or give them a case; --level paranoid makes this decide"


def run(judge) -> None:
    """Is the kernel right where it meets the first case last: what it keeps of a call (a size compiled in, a workspace)
    may fit whatever comes later in the order of the file. Where the cases show several sizes of an argument: is it
    right, or does it refuse, between them?

    A kernel that raises, or whose process ends, has not given a wrong answer.
    """
    if judge.outcome.findings:
        return
    cases = [] if judge.settings.simulate else _backwards(judge)
    sizes = judge.ask_oracle("add_between", limit=INPUT_BYTES)
    keywords = judge.ask_oracle("add_unset", limit=INPUT_BYTES)["groups"][:MOST_KEYWORDS]
    further = {"sizes-between": sizes["groups"][:MOST_SIZES], "unset-keyword": keywords,
               "unlike-sizes": sizes["unlike"][:MOST_UNLIKE]}  # fmt: skip
    others = [case for case in judge.declared["cases"] if case != judge.planned[0]]  # that one meets every trial
    integers = judge.ask_oracle("with_integers", cases=others, limit=INPUT_BYTES)["cases"][:MOST_CASES]
    if cases or integers or any(further.values()):
        with suppress(WorkerError, ContractError), judge.another_candidate(interpret=judge.interprets) as other:
            for name in cases:
                _DerivedTrial(judge, name, thorough=False).is_judged(other, "case-order")
            for check, groups in further.items():
                for names in groups:
                    any(_DerivedTrial(judge, name, thorough=False).is_judged(other, check) for name in names)
            until = time.monotonic() + INTEGER_SECONDS
            for name in integers:
                if time.monotonic() < until:
                    _DerivedTrial(judge, name, thorough=False).judge_integers(other)


def _backwards(judge) -> list[str]:
    """The last cases, then the first; those that are large are left out."""
    cases = judge.declared["cases"]
    if len(cases) == 1:
        return []
    chosen = [*cases[: -LAST_CASES - 1 : -1], cases[0]] if len(cases) > LAST_CASES else cases[::-1]
    sizes = judge.ask_oracle("nbytes", cases=chosen)["nbytes"]
    return [case for case, size in zip(chosen, sizes, strict=True) if size <= THOROUGH_BYTES]


class _DerivedTrial(CaseTrials):
    def _begin(self) -> Bundle | None:
        """The case's first inputs; None where the reference does not take them."""
        first = self._inputs("first")
        self.on_gpu = self.device != "cpu"
        try:
            self.base = self._reference(first, "between")
        except ContractError:
            return None
        self.output_nbytes = [span.nbytes for span in self.base["native"].bundle.spans]
        return first

    def is_judged(self, other: Worker, check: str) -> bool:
        """False where the reference does not take these inputs."""
        first = self._begin()
        if first is None or not finite(self.base):
            return False
        expected = self.base
        reply = self._ask_other(other, self._working_copy(first).bundle, "a", poison="nan")
        is_advice = check == "unlike-sizes" and not self.judge.paranoid
        if reply is None:
            if check != "unlike-sizes":
                self.outcome.note(f"[{self.case}] kernel_fn gives no result: {self.error[:160]}")
        elif self._failed_quietly(reply, expected):
            seen = f"{self._worst(reply, expected)}."
            if is_advice:
                self.outcome.note(f"[{self.case}] wrong, without an error, where no case is like it: {seen} {ADVICE}")
            else:
                self.outcome.add(check, seen, self.case)
        self.judge.remove_files()
        return True

    def judge_integers(self, other: Worker) -> None:
        """Segments that are empty or hold nearly all, integers near the top of their type: in the case that meets every
        trial a sum may be too short to overflow, and a block too large to hold two borders."""
        first = self._begin()
        if first is None:
            return
        for breaker in (*self._rule_keepers(first), *self._other_widths(first)):
            if not breaker.decides:
                continue
            started = time.monotonic()
            after = self._ask_other(other, self._working_copy(breaker.bundle).bundle, "b", poison="nan")
            if wrong := self._wrong_with(after, breaker):
                self.outcome.add("other-values", f"With {breaker.what} the result is wrong: {wrong}.", self.case)
            if time.monotonic() - started > QUICK_SECONDS:
                break
        self.judge.remove_files()
