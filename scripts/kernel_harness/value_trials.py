"""Trials with other values: does the reference depend on its inputs, and does the kernel survive hostile ones?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch

from . import integers, nonfinite, ties, values, variations, worker
from .arguments import MOST_WORDS, other_arguments, words_in
from .contract import ContractError, read_source
from .file_checks import FileChecks
from .judgement import REFUSALS
from .structure import as_finite, digest, finite, floats, same_outputs, tensors
from .structured import is_whole, lengthened
from .values import Bundle

MOST_SCALARS = 6
QUICK_SIMULATION = 1.0  # seconds a call: one case meets other values than get_inputs', too
NEARLY = 2.0**-6  # relative error of the root mean square; bfloat16 operands make 2^-9


@dataclass(frozen=True)
class RuleBreaker:
    """Inputs that may be none to the kernel: a result that stays counts against it, one that is wrong if it decides.

    nearly: of wrong results only those count that are nearly right: what breaks a rule is wrong from the first digit.
    slip: of wrong integers only those count that arithmetic gets wrong (integers.py), of others those nearly right.
    named: the reference says what they mean: to fail on them is wrong, too, where it is no refusal.
    """

    check: str
    what: str
    bundle: Bundle
    decides: bool = False
    nearly: bool = False
    slip: bool = False
    named: bool = False

    @property
    def result(self) -> str:
        return "its previous result" if self.check == "replay" else "the same result"


class ValueTrials(FileChecks):
    """Trials whose inputs the judge changes beyond what replay needs."""

    rule_breakers: Sequence[RuleBreaker] = ()
    error = ""  # of the last call in another process

    def _dependence(self, first: Bundle, expected: dict) -> None:
        """Does the reference depend on its inputs? An answer that does not move tells nothing about a kernel."""
        tree = first.tree["items"]
        still = []
        for index, node in enumerate(tree):
            tensors = [t for _, t in values.tensors_of(node)]
            if not tensors or index in self.judge.mutates or all(0 in t["shape"] for t in tensors):
                continue
            floating = values.dtype_named(tensors[0]["dtype"]).is_floating_point
            # Order survives warp: an argmax moves only when elements change places.
            changes = (variations.warp, variations.shuffle) if floating else (variations.scramble, variations.repeat)
            if self._stands_still(first, expected, index, changes, "float" if floating else "index"):
                still.append(index)
        count = sum(bool(list(values.tensors_of(node))) for node in tree)
        if still and len(still) == count:
            self.outcome.add("weak-inputs", "reference_fn gives the same result whatever its inputs are.", self.case)
        elif still:
            self.outcome.note(
                f"[case {self.case}] reference_fn does not depend on input "
                f"{', '.join(map(str, still))} with these inputs: errors there stay unseen"
            )

    def _stands_still(self, first: Bundle, expected: dict, index: int, changes, kinds: str) -> bool:
        tried = False
        for change in changes:
            new, moved = self._varied(first, change, only={index}, kinds=kinds)
            if not moved:
                continue
            tried = True
            try:
                now = self._reference(new, "depends", golden=False)
            except ContractError:
                return False  # a reference that refuses other values reads them
            if not same_outputs(now["native"], expected["native"]):
                return False
        return tried

    def _others_elsewhere(self, held: Bundle) -> None:
        """The first input where it was, all others in new memory: what is kept by the address of one is stale then.

        held: the values that slot "a" holds.
        """
        mixed, moved = self._varied(held, variations.warp, set(range(1, len(held.tree["items"]))))
        storages = [{node["storage"] for _, node in values.tensors_of(item)} for item in held.tree["items"]]
        if not moved or variations.warp in self.judge.refused or storages[0] & set().union(*storages[1:]):
            return
        try:
            expected = self._reference(mixed, "varied")
        except ContractError:
            return
        label, work = "the first input where it was, new values elsewhere for the others", self._working_copy(mixed)
        reply = self._call(label, work, "c", poison="large", borrow="a")
        self._judge_trial(label, reply, expected, mixed, work, decisive="replay")

    def _hostile(self, first: Bundle) -> None:
        self.conditioned = True
        for label, change in variations.HOSTILE.items():
            self._hostile_trial(first, label, change, decisive=True)
        for index in range(len(first.tree["items"])):  # one at a time: the product of two would hide or overflow
            label = f"the last slice of input {index}'s long dimensions weighs a sixteenth"
            self._hostile_trial(first, label, variations.long_tails, decisive=True, only={index})
        self._hostile_trial(first, "a constant mask made random", variations.unmask, decisive=True, kinds="index")
        self._hostile_trial(
            first, "NaN and infinities at a few places", nonfinite.specials, decisive=self.judge.paranoid
        )
        self._nans(first)
        self._signs(first)
        self.conditioned = False
        self._ties(first)

    def _hostile_trial(
        self, first: Bundle, label: str, change, decisive: bool, kinds: str = "float", only: set[int] | None = None
    ) -> None:
        new, moved = self._varied(first, change, only, kinds)
        if not moved or self.case_failed():
            return
        try:
            expected = self._reference(new, "hostile", roundings=True)
        except ContractError:
            return  # the reference refuses such values: they are outside what the file promises
        if change is not nonfinite.specials and not as_finite(expected, self.base):
            return  # out of the reference's own range
        work = self._working_copy(new)
        reply = self._call(label, work, "b", poison="large", may_fail=True)
        error = str(reply.get("error", ""))
        if not decisive and "bundle" not in reply and "CUDA" not in error:
            self.outcome.note(f"[case {self.case}] {label}: kernel_fn raises {error[:160]}")
            return
        if self._refused(label, reply, decisive=False):
            return
        if decisive:
            self._judge_trial(f"hostile inputs, {label}", reply, expected, new, work, decisive="values")
            self._teeth(expected, new)
        elif "bundle" in reply and self._failed_quietly(reply, expected):
            self.outcome.note(
                f"[case {self.case}] {label}: the result differs from the reference's "
                f"({self._worst(reply, expected)}); --level paranoid makes this decide"
            )

    def _nans(self, first: Bundle) -> None:
        """A reference that is finite whatever NaN it gets is about NaN: there the kernel's must be, too."""
        new, moved = self._varied(first, nonfinite.nans)
        if not moved or self.case_failed():
            return
        try:
            expected = self._reference(new, "nans", roundings=True)
        except ContractError:
            return
        is_about_nan = bool(floats(expected["native"])) and finite(expected)
        if not is_about_nan or same_outputs(expected["native"], self.base["native"]):
            return
        reply = self._call("NaN at a few places", self._working_copy(new), "b", poison="large", may_fail=True)
        if "bundle" in reply and not all(bool(torch.isfinite(t).all()) for t in floats(reply["result"])):
            seen = "Where inputs are NaN the kernel's result is not finite, and the reference's is."
            self.outcome.add("other-values", seen, self.case)

    def _ties(self, first: Bundle) -> None:
        """Values on which the reference rounds nowhere but where it means to: a tie is one for every kernel."""
        new, moved = self._varied(first, ties.dyadic)
        if not moved or self.case_failed():
            return
        new = ties.dyadic_numbers(new)
        try:
            expected = self._reference(new, "ties")
        except ContractError:
            return
        if not finite(expected) or not self.judge.ask_oracle("is_exact", bundle=new.to_json())["exact"]:
            return
        expected["moved"] = expected["golden"]  # a tie moves to either side, but there is nothing that moves it
        reply = self._call("numbers of few digits", self._working_copy(new), "b", poison="large", may_fail=True)
        if self._failed_quietly(reply, expected):
            seen = "On numbers of so few digits that nothing is rounded before it is meant to be, the result is wrong"
            self.outcome.add("other-values", f"{seen}: {self._worst(reply, expected)}.", self.case)

    def _signs(self, first: Bundle) -> None:
        """Inputs of one sign get both: relu, abs and max(x, 0) do nothing on the values of torch.rand.

        A kernel that answers NaN there, or refuses, stays outside its domain openly; a number must be the right one.
        """
        one_signed = [i for i in range(len(first.tree["items"])) if self._varied(first, variations.signs, only={i})[1]]
        for only in [set(one_signed), *({i} for i in one_signed if len(one_signed) > 1)] if one_signed else ():
            new, _ = self._varied(first, variations.signs, only=only)
            try:
                expected = self._reference(new, "signs", roundings=True)
            except ContractError:
                continue
            if not finite(expected) or self.case_failed():
                continue
            reply = self._call("both signs", self._working_copy(new), "b", poison="large", may_fail=True)
            named = ", ".join(map(str, sorted(only)))
            if "bundle" not in reply or not all(bool(torch.isfinite(t).all()) for t in floats(reply["result"])):
                self.outcome.note(f"[case {self.case}] no finite result where input {named} has both signs")
            elif self._failed_quietly(reply, expected):
                self.outcome.add(
                    "other-values",
                    f"Where the values of input {named} have both signs, not one, the result is wrong: "
                    f"{self._worst(reply, expected)}.",
                    self.case,
                )

    def _simulated_values(self, first: Bundle) -> None:
        """Hostile values, other integers and other arguments for the first case that is simulated quickly."""
        facts = self.outcome.facts
        if self.call_seconds <= QUICK_SIMULATION and facts.setdefault("other_values", self.case) == self.case:
            self.rule_breakers = self._rule_breakers(first)
            self._index_replay(first)
            self._hostile(first)

    def _index_replay(self, first: Bundle) -> None:
        """Other integers, masks and numbers than a first call's, in a process that may die of them.

        Offsets, tables and sizes have rules that the judge does not know: only a result that stays, bit for bit, while
        the reference's changes counts against the kernel. Of flags and factors that the reference takes, a finite
        result must be right.
        """
        judge = self.judge
        if not self.rule_breakers:
            return
        with suppress(worker.WorkerError, ContractError), judge.another_candidate(judge.interprets) as other:
            work = self._working_copy(first)
            before = self._ask_other(other, work.bundle, "a")
            for breaker in self.rule_breakers if before is not None else ():
                if breaker.check == "replay":
                    variations.rewrite(work, breaker.bundle)
                    after = self._ask_other(other, work.bundle, "a", refresh="bumped")
                else:
                    after = self._ask_other(other, self._working_copy(breaker.bundle).bundle, "b")
                if after is None and breaker.named and not self.error.startswith(REFUSALS):
                    self.outcome.add("other-values", f"With {breaker.what} it fails: {self.error[:160]}.", self.case)
                wrong = self._wrong_with(after, breaker)
                if wrong and digest(before) == digest(after) and not breaker.slip:
                    seen = f"With {breaker.what} kernel_fn returned {breaker.result}, bit for bit"
                    self.outcome.add(breaker.check, f"{seen}, where the reference's changes.", self.case)
                elif wrong and breaker.decides:
                    self.outcome.add("other-values", f"With {breaker.what} the result is wrong: {wrong}.", self.case)

    def _rule_breakers(self, first: Bundle) -> list[RuleBreaker]:
        """Inputs with other integers and masks, other numbers, and other values than those that keep a rule."""
        new, moved = self._varied(first, variations.scramble, kinds="index")
        found = []
        if moved:
            found.append(RuleBreaker("replay", "other integers or masks in the same memory", new))
        found += self._other_arguments(first)
        found += self._other_integers(first)
        for index in range(len(first.tree["items"])):
            new, moved = self._varied(first, variations.pry, only={index}, kinds="ruled")
            if moved:
                what = f"other values than those of get_inputs, which keep a rule, for input {index}"
                found.append(RuleBreaker("ignored-argument", what, new))
        mapping = values.Mapping(first, writable=False)
        inputs = [values.rebuild(node, mapping.bytes_of) for _, node in values.tensors_of(first.tree)]
        if all(is_whole(x) for x in inputs if x.is_floating_point() or x.is_complex()):  # else a fraction shows digits
            new, moved = self._varied(first, lengthened, kinds="ruled")
            if moved:
                what = "whole numbers of more digits than get_inputs', of which none has a fraction,"
                found.append(RuleBreaker("ignored-argument", what, new, decides=True, nearly=True))
        return found

    def _other_arguments(self, first: Bundle) -> list[RuleBreaker]:
        """Another value of each argument that is no tensor; in place of a name some others that the reference knows."""
        paths = (self.settings.kernel, self.settings.reference)
        words = [word for path in paths if path for word in words_in(read_source(path)[1])]
        found, named = [], 0
        for other in other_arguments(first, words):
            if len(found) - named == MOST_SCALARS and not other.is_named:
                continue
            if other.is_named:
                if named == MOST_WORDS or not self._moves(other.bundle):
                    continue
                named += 1
            what = f"{other.new!r} in place of {other.old!r} for input {other.index}"
            found.append(RuleBreaker("ignored-argument", what, other.bundle, other.decides))
        return found

    def _moves(self, bundle: Bundle) -> bool:
        """Does the reference take these inputs, and answer something else than on the first ones?"""
        try:
            return not same_outputs(self._reference(bundle, "argument", golden=False)["native"], self.base["native"])
        except ContractError:
            return False

    def _other_integers(self, first: Bundle) -> list[RuleBreaker]:
        """Integers of other signs and widths than get_inputs', and those that the reference sets apart."""
        changes = (
            (integers.both_signs, "integers of both signs"),
            (integers.middle_width, "integers of fifteen bits"),
            (integers.whole_width, "integers that fill their type"),
            (integers.one_each, "one True in each row"),
        )
        found = []
        for change, what in changes:
            new, moved = self._varied(first, change, kinds="index")
            if moved and self._moves(new):
                found.append(RuleBreaker("replay", what, new, decides=True, slip=True))
        for value in integers.special_values(read_source(self.settings.reference or self.settings.kernel)[1]):
            for index in range(len(first.tree["items"])):
                new, moved = self._varied(first, integers.put(value), only={index}, kinds="index")
                if moved and self._moves(new):
                    what = f"{value}, which the reference sets apart, at places of input {index}"
                    found.append(RuleBreaker("ignored-argument", what, new, decides=True, named=True))
        return found

    def _ask_other(self, other: worker.Worker, bundle: Bundle, slot: str, **options) -> dict | None:
        """One call in another process; None where it gave no result."""
        output = self.judge.new_file("out")
        request = {"slot": slot, "output": str(output), "expected_nbytes": self.output_nbytes, **options}
        reply = other.call("call", self.settings.timeout, bundle=bundle.to_json(), **request)
        self.error = str(reply.get("error", ""))
        if "bundle" not in reply:
            return None
        self._take_result(reply, output, "other integers or numbers")
        return reply

    def _wrong_with(self, after: dict | None, breaker: RuleBreaker) -> str:
        """What is wrong with a result, if that counts; nothing where kernel or reference does not take the inputs."""
        if after is None:
            return ""
        try:
            expected = self._reference(breaker.bundle, "varied")
        except ContractError:
            return ""
        is_finite = all(bool(torch.isfinite(t).all()) for t in floats(after["result"]))
        is_taken = is_finite and as_finite(expected, self.base)
        if not is_taken or not self._failed_quietly(after, expected):
            return ""
        if (breaker.nearly and not self._nearly_right(after, expected)) or (
            breaker.slip and not self._is_slip(after, expected)
        ):
            return ""
        return self._worst(after, expected)

    def _is_slip(self, reply: dict, expected: dict) -> bool:
        pairs = list(zip(tensors(reply["result"]), tensors(expected["native"]), strict=False))
        whole = [(y, n) for y, n in pairs if not (n.dtype.is_floating_point or n.dtype.is_complex)]
        if len(whole) < len(pairs):
            return self._nearly_right(reply, expected)
        return all(y.shape == n.shape and (torch.equal(y, n) or integers.is_slip(y, n)) for y, n in whole)

    def _nearly_right(self, reply: dict, expected: dict) -> bool:
        compared = self._comparisons(reply["result"], expected)
        return all(c.passed or (not c.wrong_class and c.rms_error < NEARLY * c.rms_golden) for c in compared)
