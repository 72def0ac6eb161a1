"""Trials in a process of their own: the file's last cases before its first, sizes that lie between those of its cases
(between.py), keywords that none sets (unset.py), other integers for the cases that do not meet every trial, and inputs
laid out in other ways (layouts.py)."""

from __future__ import annotations

import math
import re
import signal
import time
from contextlib import suppress
from functools import partial

from .. import values
from ..comparison.structure import finite, tensors
from ..contract import ContractError, read_source
from ..inputs import claims, layouts, refused
from ..processes.worker import Worker, WorkerDied, WorkerError
from ..values import Bundle
from .case_choice import FEW_BYTES, THOROUGH_BYTES
from .judgement import REFUSALS
from .trials import CaseTrials

LACKS_MEMORY = re.compile(r"out of memory|OutOfMemory|MemoryError|(can't|cannot|not) allocate|shared memory, Req", re.I)
REJECTED = re.compile(r"invalid (configuration )?argument|InvalidValue|INVALID_VALUE|INVALID_CONFIG", re.I)  # a launch
LAST_CASES = 2
MOST_SIZES, MOST_DOUBLED, MOST_UNLIKE, MOST_KEYWORDS, MOST_EMPTY = 14, 5, 5, 8, 4
MAY_BE_REFUSED = ("uneven-sizes", "unlike-sizes", "empty-sizes", "sizes-beyond", "sizes-timed", "sizes-far")
FURTHER_DRAWS = {"sizes-beyond": 3, "sizes-far": 1}  # an index beyond 16 bits is in a row of 80,000 one of five times
MOST_CASES = 6  # that get other integers
LONG_BYTES, LONG_SECONDS = 5 * 2**20, 15.0
SIMULATED_SECONDS = 120.0  # from which on no further size, keyword or layout is begun in the simulator
MOST_LONG = 3  # sizes of BENCH_CASES, one at a time
MOST_FAR, FAR_BYTES = 4, 2**26  # sizes far above the cases', one at a time; bytes on a GPU
FAR_STEP = 8  # times, from one of them to the next
GROWN = 8  # times the inputs of all cases, from which on rounding may have grown with the size
MOST_VIEWS = 3  # cases whose views are mixed with tensors that are none
MOST_PROCESSES = 3  # a kernel may end some
INPUT_BYTES = 2 * 2**20
SIZES_SECONDS = 2.0  # after which no further sizes that were drawn together are tried
QUICK_SECONDS = 2.0  # of a call; in the simulator others may take longer
DRAW_SECONDS = 5.0  # of a trial with its inputs and reference, to be repeated
INTEGER_SECONDS = 20.0  # after which no further case gets other integers
OFFSET = "inputs that begin one element into their memory, as x[1:] does"
OFFSET_ADVICE = "Look at data_ptr() before wide accesses, or raise ValueError; --level paranoid makes this decide"
ADVICE = "Raise ValueError for such sizes, or give them a case; --level paranoid makes this decide"


def run(judge) -> None:
    """Is the kernel right where it meets the first case last: what it keeps of a call (a size compiled in, a workspace)
    may fit whatever comes later in the order of the file. Where the cases show several sizes of an argument: is it
    right, or does it refuse, between them?

    A kernel that raises, or whose process ends, has not given a wrong answer. In another order of the file's own cases
    it has failed.
    """
    if judge.outcome.findings:
        return
    cases = [] if judge.settings.simulate else _backwards(judge)
    sizes = _add_cases(judge, "add_between", long_limit=_affordable(judge), far_limit=_affordable(judge, FAR_BYTES))
    declared = judge.declared["cases"]
    bytes_of = judge.ask_oracle("nbytes", cases=declared)["nbytes"]
    keywords = _add_cases(judge, "add_unset", cases=declared)["groups"][:MOST_KEYWORDS]
    further = {
        "sizes-between": sizes["groups"][:MOST_SIZES],
        "sizes-beyond": sizes["doubled"][:MOST_DOUBLED],
        "sizes-timed": sizes["long"][:MOST_LONG],
        "sizes-far": sizes["far"][:MOST_FAR],
        "unset-keyword": keywords,
        "uneven-sizes": sizes["uneven"][:MOST_UNLIKE],
        "unlike-sizes": sizes["unlike"][:MOST_UNLIKE],
        "empty-sizes": sizes["nothing"][:MOST_EMPTY],
    }
    others = [case for case in declared if case != judge.planned[0]]  # that one meets every trial
    largest = [names[0] for names in (*further["sizes-timed"], *further["sizes-beyond"])]  # where sums are longest
    asked = partial(judge.ask_oracle, "with_integers")
    integers = asked(cases=largest, limit=LONG_BYTES)["cases"][:MOST_LONG]
    integers += asked(cases=others, limit=INPUT_BYTES)["cases"][:MOST_CASES]
    jobs = [partial(_judge_first, judge, [name], "case-order", math.inf) for name in cases]
    most = max(bytes_of, default=0)
    jobs += [partial(_judge_first, judge, names, check, most) for check, groups in further.items() for names in groups]
    drawn = [name for names in sizes["drawn"] for name in names]
    jobs += [partial(_judge_drawn, judge, drawn)] if drawn else []
    jobs += [partial(_judge_integers, judge, integers)] if integers else []
    views = judge.ask_oracle("with_views", cases=declared, limit=INPUT_BYTES)["cases"]
    jobs += [partial(_judge_layouts, judge, case, len(views) < len(declared)) for case in views[:MOST_VIEWS]]
    squares = judge.ask_oracle("with_squares", cases=declared, limit=INPUT_BYTES)["cases"][:MOST_VIEWS]
    jobs += [partial(_judge_mirrored, judge, case) for case in squares]
    jobs += [partial(_judge_after_refusal, judge, judge.planned[0])] if judge.planned[0] in declared else []
    tree = read_source(judge.settings.kernel)[1]
    if claims.takes_any_rows(tree) and judge.planned[0] in declared:
        jobs.append(partial(_judge_rows, judge, judge.planned[0]))
    least = 1 if claims.takes_any_address(tree) else FEW_BYTES
    fitting = [case for case, size in zip(declared, bytes_of, strict=True) if least <= size <= INPUT_BYTES]
    jobs += [partial(_judge_offsets, judge, case) for case in fitting[:1]]  # the last one: it may end the process
    until = time.monotonic() + SIMULATED_SECONDS
    for _ in range(MOST_PROCESSES if jobs else 0):
        with suppress(WorkerError, ContractError), judge.another_candidate(interpret=judge.interprets) as other:
            _work_off(judge, jobs, other, until)
            return


def _work_off(judge, jobs: list, other: Worker, until: float) -> None:
    """until: when those that are left are left out, in the simulator."""
    while jobs:
        if judge.settings.simulate and time.monotonic() > until:
            judge.outcome.note(f"{len(jobs)} further sizes, keywords and layouts were left out: the others took "
                               f"{SIMULATED_SECONDS:g} s in the simulator. A GPU meets them all")
            return
        jobs.pop(0)(other)


def _affordable(judge, on_gpu: int = LONG_BYTES) -> int:
    """Bytes of inputs of a case that is long in one size: in the simulator what LONG_SECONDS are enough for, by the
    largest case. None in Triton's interpreter, which is slower still. on_gpu: where the kernel runs on one."""
    size, seconds = judge.outcome.facts.get("pace", (0, 0.0))
    if judge.settings.simulate:
        return min(LONG_BYTES, int(size * LONG_SECONDS / max(seconds, 1e-3)))
    if not judge.interprets:
        return on_gpu
    return 0 if judge.interprets and "triton" in read_source(judge.settings.kernel)[0] else LONG_BYTES


def _add_cases(judge, question: str, **arguments) -> dict:
    """The oracle's answer to a question of case_sizes.py, without cases whose inputs make the GPU fault."""
    most = min(INPUT_BYTES, _affordable(judge)) if judge.settings.simulate else INPUT_BYTES
    arguments |= {"limit": most, "without": []}
    while lost := (answer := judge.ask_oracle(question, **arguments)).get("lost"):
        arguments["without"].append(lost)
        judge.renew_oracle()
    judge.added.append((question, arguments))
    return answer


def _judge_first(judge, names: list[str], check: str, most: float, other: Worker) -> None:
    """The first of the cases ``names`` that the reference takes. most: bytes of the inputs of the largest case."""
    climbs = check == "sizes-far" and judge.settings.simulate  # what the largest takes there, smaller ones tell
    for name in reversed(names) if climbs else names:
        started, trial = time.monotonic(), _DerivedTrial(judge, name, thorough=False)
        trial.most = most
        is_judged, took = trial.is_judged(other, check), time.monotonic() - started
        if climbs and is_judged and FAR_STEP * took < LONG_SECONDS and not judge.outcome.findings:
            continue
        if is_judged:
            is_quick = took < DRAW_SECONDS
            for _ in range(FURTHER_DRAWS.get(check, 0) if is_quick else 0):
                if not judge.outcome.findings:
                    trial.is_judged(other, check)
            return


def _judge_drawn(judge, names: list[str], other: Worker) -> None:
    """As many of the cases as there is time for, until one is wrong."""
    until = time.monotonic() + SIZES_SECONDS
    for name in names:
        if time.monotonic() < until and not judge.outcome.findings:
            _DerivedTrial(judge, name, thorough=False).is_judged(other, "sizes-drawn")


def _judge_integers(judge, names: list[str], other: Worker) -> None:
    until = time.monotonic() + INTEGER_SECONDS
    for name in names:
        if time.monotonic() < until:
            _DerivedTrial(judge, name, thorough=False).judge_integers(other)


def _judge_layouts(judge, name: str, shows_plain: bool, other: Worker) -> None:
    _DerivedTrial(judge, name, thorough=False).judge_layouts(other, shows_plain)


def _judge_mirrored(judge, name: str, other: Worker) -> None:
    _DerivedTrial(judge, name, thorough=False).judge_mirrored(other)


def _judge_rows(judge, name: str, other: Worker) -> None:
    _DerivedTrial(judge, name, thorough=False).judge_rows(other)


def _judge_after_refusal(judge, name: str, other: Worker) -> None:
    if not judge.settings.simulate:
        _DerivedTrial(judge, name, thorough=False).judge_after_refusal(other)


def _judge_offsets(judge, name: str, other: Worker) -> None:
    _DerivedTrial(judge, name, thorough=False).judge_offsets(other)


def _backwards(judge) -> list[str]:
    """The last cases, then the first; those that are large are left out."""
    cases = judge.declared["cases"]
    if len(cases) == 1:
        return []
    chosen = [*cases[: -LAST_CASES - 1 : -1], cases[0]] if len(cases) > LAST_CASES else cases[::-1]
    sizes = judge.ask_oracle("nbytes", cases=chosen)["nbytes"]
    return [case for case, size in zip(chosen, sizes, strict=True) if size <= THOROUGH_BYTES]


class _DerivedTrial(CaseTrials):
    most = math.inf  # bytes of the inputs of the file's largest case
    tree = property(lambda self: read_source(self.settings.kernel)[1])

    def __init__(self, judge, case: str, thorough: bool):
        super().__init__(judge, case, thorough)
        if self.settings.simulate:
            self.patience = min(self.patience, SIMULATED_SECONDS / 2)

    def _begin(self) -> Bundle | None:
        """The case's first inputs; None where the reference does not take them."""
        first = self._inputs("first")
        self.on_gpu = self.device != "cpu"
        try:
            self.base = self._reference(first, "between", own=True)
        except ContractError:
            return None
        self.output_nbytes = [span.nbytes for span in self.base["native"].bundle.spans]
        return first

    def is_judged(self, other: Worker, check: str, is_second: bool = False) -> bool:
        """False where the reference does not take these inputs. What is wrong by little is judged on a second draw: of
        so many trials of few elements one may be beyond the bound by chance."""
        self.judge.progress(f"{self.case} ({check})")
        first = self._begin()
        if first is None or not finite(self.base):
            return False
        for call in ("", " in the second call"):  # which may meet what the first one left
            try:
                reply = self._ask_other(other, self._working_copy(first).bundle, "a", poison="nan")
            except WorkerError as error:
                is_its_own = isinstance(error, WorkerDied) and error.returncode != -signal.SIGKILL
                self._fail(check, f"its process is lost: {error}", is_its_own)
                raise
            if reply is None and check == "sizes-far" and self.error.startswith(REFUSALS):
                return False  # it may take a smaller one
            if reply is None:
                lacks = LACKS_MEMORY.search(self.error) is not None
                if check not in MAY_BE_REFUSED or not (lacks or self.error.startswith(REFUSALS)):
                    self._fail(check, self.error[:160], not lacks)
                break
            if seen := self._wrong(reply):
                is_near = self._has_structure(reply, self.base) and not self._is_reported(reply)
                is_near = is_near and self._nearly_right(reply, self.base)
                if is_near and not is_second:
                    return self.is_judged(other, check, is_second=True)
                if is_near and self._has_grown(reply, self.base):
                    break
                self._tell(check, f"{seen}{call}.")
                break
            if reply["facts"]["host_seconds"] > QUICK_SECONDS:
                break
        if check == "sizes-far" and reply and not self.outcome.findings:  # what failed there would fail again
            self._of_many(first)
        self.judge.remove_files()
        return True

    def _has_grown(self, reply: dict, expected: dict) -> bool:
        """May rounding in a sum so much longer than the cases' be beyond the bound, a note then? One element at a time
        it grows as the length, the bound as its root; in results of 16 bits it does not show."""
        growth = expected["bundle"].size / max(self.most, 1)
        used = max(c.budget_used for c in self._comparisons(reply["result"], expected))
        is_narrow = all(t.dtype.itemsize == 2 for t in tensors(expected["native"]))
        if is_narrow or growth < GROWN or not 1 < used <= math.sqrt(growth):
            return False
        self.outcome.note(f"[{self.case}] far above all cases, rounding has grown: {self._worst(reply, expected)}")
        return True

    def _wrong(self, reply: dict) -> str:
        """What is wrong with the result, or with the launches that gave it."""
        if self._failed_quietly(reply, self.base):
            return self._worst(reply, self.base)
        return f"the simulator saw: {reply['facts']['simulated']['findings'][0]}" if self._is_reported(reply) else ""

    @staticmethod
    def _is_reported(reply: dict) -> bool:
        """Did the simulator find fault with the launches?"""
        return bool(reply["facts"]["simulated"] and reply["facts"]["simulated"]["findings"])

    def _tell(self, check: str, seen: str) -> None:
        claimed = {"uneven-sizes": claims.takes_remainders, "empty-sizes": claims.takes_nothing}
        is_advice = check == "unlike-sizes" or (check in claimed and not claimed[check](self.tree))
        if is_advice and not self.judge.paranoid:
            self.outcome.note(f"[{self.case}] wrong, without an error, where no case is like it: {seen} {ADVICE}")
        else:
            self.outcome.add(check, seen, self.case)

    def _fail(self, check: str, seen: str, is_its_own: bool) -> None:
        """No result. is_its_own: for no lack of memory or time."""
        if check == "case-order" and is_its_own:
            order = "Called with the last cases first, in a new process, kernel_fn gives no result"
            self.outcome.add("crash", f"{order}: {seen}. It depends on the calls before.", self.case)
        elif REJECTED.search(seen) and check != "empty-sizes" and claims.takes_any_size(self.tree):
            self.outcome.add("crash", f"The docstring says any size, and a launch is rejected: {seen}.", self.case)
        else:
            how = "refuses this, as it may" if seen.startswith(REFUSALS) else "gives no result"
            self.outcome.note(f"[{self.case}] kernel_fn {how}: {seen}")

    def judge_layouts(self, other: Worker, shows_plain: bool) -> None:
        """The case's values with one view among tensors that are none, and as parts of what is longer. shows_plain:
        other cases have no views, so that parts of one tensor need not come together."""
        first = self._begin()
        if first is None:
            return
        items = _inputs_of(first)
        found = [(f"input {at} as get_inputs lays it out and all others contiguous", new, True)
                 for at, new in layouts.mixed(items, of_one=shows_plain)]
        if longer := layouts.parts(items):
            found.append(("inputs that are slices x[:, :n] of longer ones, rows as far apart as ever,", longer, False))
        for what, new, is_shown in found:
            try:
                self._judge_layout(other, what, self._laid_out(new, first), is_shown)
            except WorkerError as error:
                is_its_own = isinstance(error, WorkerDied) and error.returncode != -signal.SIGKILL
                if is_shown and is_its_own:
                    self.outcome.add("other-layouts", f"With {what} its process is lost: {error}.", self.case)
                raise
        self.judge.remove_files()

    def judge_rows(self, other: Worker) -> None:
        """Inputs whose rows lie further apart, where the docstring says that any distance will do."""
        first = self._begin()
        new = layouts.padded(_inputs_of(first)) if first else None
        if new is not None:
            what = "rows further apart than they are long, as in x[:, :n] of a longer one,"
            self._judge_layout(other, what, self._laid_out(new, first), is_shown=False)
        self.judge.remove_files()

    def judge_mirrored(self, other: Worker) -> None:
        """The product of a matrix with itself: an address twice says nothing of the strides."""
        first = self._begin()
        for what, apart, shared in layouts.mirrored(_inputs_of(first)) if first else ():
            with suppress(ContractError):
                self.base = self._reference(self._laid_out(apart, first), "mirrored", own=True)
                reply = self._ask_other(other, self._working_copy(self.base["bundle"]).bundle, "b", poison="nan")
                if reply and not self._wrong(reply):
                    self._judge_layout(other, what, self._laid_out(shared, first), is_shown=False)
        self.judge.remove_files()

    def judge_after_refusal(self, other: Worker) -> None:
        """A call that is right after one that raised, which may have left its workspace as it was halfway. Where the
        reference raises, too, for a last number that it does not take; not on a GPU, which a kernel need not spare."""
        first = self._begin()
        for kinds, change in refused.CHANGES if first is not None and not self.on_gpu else ():
            new, moved = self._varied(first, change, kinds=kinds)
            if not moved or self._accepts(new):
                continue
            if self._ask_other(other, self._working_copy(new).bundle, "b", poison="nan") is None:
                reply = self._ask_other(other, self._working_copy(first).bundle, "b", poison="nan")
                if reply and (seen := self._wrong(reply)):
                    seen = f"After a call that it refused the result is wrong: {seen}."
                    self.outcome.add("many-calls", seen, self.case)
                    break
        self.judge.remove_files()

    def judge_offsets(self, other: Worker) -> None:
        """Inputs that begin one element into their memory. A note: a kernel may take whole tensors alone, and should
        refuse others."""
        first = self._begin()
        new = layouts.shifted(_inputs_of(first)) if first else None
        if new is None:
            return
        try:
            reply = self._ask_other(other, self._working_copy(self._laid_out(new, first)).bundle, "b", poison="nan")
            seen = self._wrong(reply) if reply else "" if self.error.startswith(REFUSALS) else self.error[:160]
        except WorkerError as error:
            seen = f"its process is lost: {error}"
        if seen and (self.judge.paranoid or claims.takes_any_address(self.tree)):
            self.outcome.add("other-layouts", f"With {OFFSET}: {seen}.", self.case)
        elif seen:
            self.outcome.note(f"[case {self.case}] with {OFFSET}: {seen}. {OFFSET_ADVICE}")
        self.judge.remove_files()

    def _judge_layout(self, other: Worker, what: str, bundle: Bundle, is_shown: bool) -> None:
        """is_shown: the case has such an input, so that to fail on it is wrong, too, where it is no refusal."""
        reply = self._ask_other(other, self._working_copy(bundle).bundle, "b", poison="nan")
        if reply is None:
            if is_shown and not self.error.startswith(REFUSALS):
                self.outcome.add("other-layouts", f"With {what} it fails: {self.error[:160]}.", self.case)
        elif seen := self._wrong(reply):
            self.outcome.add("other-layouts", f"With {what} the result is wrong: {seen}.", self.case)

    def judge_integers(self, other: Worker) -> None:
        """Segments that are empty or hold nearly all, integers near the top of their type: in the case that meets every
        trial a sum may be too short to overflow, and a block too large to hold two borders."""
        first = self._begin()
        if first is None:
            return
        self._ask_other(other, self._working_copy(first).bundle, "b", poison="nan")  # what is planned by values stays
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


def _inputs_of(bundle: Bundle) -> list:
    return values.rebuild(bundle.tree, values.Mapping(bundle, writable=False).bytes_of)
