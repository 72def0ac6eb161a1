"""Trials with hostile values: large and small, of both signs, with ties, NaN and infinities."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations

import torch

from .. import values
from ..comparison import diagnosis
from ..comparison.structure import (
    as_finite,
    finite,
    floats,
    masks_elsewhere,
    matching,
    same_outputs,
    same_rows,
    tensors,
)
from ..contract import ContractError
from ..inputs import alike, enlarged, hostile, masks, nonfinite, signs, sinks, ties, together
from ..values import Bundle
from . import answers
from .gradient_trials import GradientTrials
from .judgement import FEW_WRONG, INDEX_DTYPES

SIGNS = {signs.both: "both signs, not one", signs.below_zero: "the other sign, zeros too"}
TIE_DRAWS = 3
TIES = "few values (exact sums, ties)"
OF_MANY = (("rows in descending order", hostile.descending), ("magnitudes", signs.positive))  # where there are many
# How many times its spread data are moved, and how little the answers may change (relative) for the trial to be one:
# float32 keeps as much of the spread as that and more, bfloat16 a 32nd of it.
FAR, NEAR = (4096, 2.0**-7), (16, 2.0**-3)
COARSE_DRAWS, FEW_ROWS = 6, 64  # results
MOST_SINKS = 3  # pairs of inputs
RAISED = 4.0  # times; and the smallest number that is raised: shares and factors near one stay
MOST_PAIRS = 6  # of inputs, of which one is made larger and the other smaller


class HostileTrials(GradientTrials):
    """Trials on values that are hard to compute with."""

    def _hostile(self, first: Bundle) -> None:
        self.conditioned = True
        kinds = (answers.keep_size, answers.shrink_alike)
        counts_if_wrong = lambda expected: self.judge.paranoid or any(kind(expected, self.base) for kind in kinds)
        self._hostile_trial(first, "values a billion times as small", hostile.tiny, decisive=counts_if_wrong)
        for label, change in hostile.HOSTILE.items():
            self._hostile_trial(first, label, change, decisive=True)
            for _ in range(self._further_draws(change)):
                self._hostile_trial(self._other_inputs(first)[0], label, change, decisive=True)
        self._balanced(first)
        self._raised(first)
        self._sinks(first)
        self._nearer_to_one(first)
        for index in range(len(first.tree["items"])):  # one at a time: the product of two would hide or overflow
            for label, change in hostile.OF_ONE.items():
                self._hostile_trial(first, label.format(index), change, decisive=True, only={index})
            label, says = f"most of input {index}'s rows smaller, down to nothing", {"decisive": True, "roughly": True}
            self._hostile_trial(first, label, hostile.fading_rows, only={index}, counts=_are_numbers, **says)
            label = f"all rows of input {index} as the first"
            self._hostile_trial(first, label, alike.rows, decisive=True, only={index}, roughly=True)
            label, counts = f"a quarter of input {index} masked by -1e9", partial(self._leaves_out, index=index)
            self._hostile_trial(first, label, hostile.masked, decisive=True, only={index}, counts=counts)
            label = f"one of input {index} far above the others: the first of each row, the last of a vector"
            # As scores these are values like others, and no excuse; a vector's one far value is.
            self.conditioned = len(first.tree["items"][index].get("shape", ())) == 1
            self._hostile_trial(first, label, hostile.led, decisive=True, only={index})
            self.conditioned = True
            for what, pick in (("largest", torch.amax), ("smallest", torch.amin)):
                label, change = f"input {index} its {what} value throughout", hostile.throughout(pick)
                self._hostile_trial(first, label, change, decisive=True, only={index})
            times, within = _offset(first.tree["items"][index])
            label, change = f"input {index} around {times} times its spread, which changes no answer", hostile.around
            counts = partial(answers.are_as_before, base=self.base, within=within)
            self.conditioned = times == FAR[0]  # nearer float32 loses nothing, and an error of the mean must show
            self._hostile_trial(first, label, change(times, 2), decisive=True, only={index}, counts=counts)
            self.conditioned = True
        times, within = FAR  # data of 16 bits stay
        label = f"all inputs moved alike by {times} times the spread of one, which changes no answer"
        counts = partial(answers.are_as_before, base=self.base, within=within)
        self._hostile_trial(first, label, together.moved(times), decisive=True, counts=counts)
        self._hostile_trial(first, "groups of neighbours of one sign", signs.runs, decisive=True)
        self._opposed(first)
        self._hostile_trial(first, "zeros of both signs above all others", signs.zeros_above, decisive=True)
        self._hostile_trial(first, "a constant mask made random", masks.unmask, decisive=True, kinds="index")
        self._hostile_trial(
            first, "NaN and infinities at a few places", nonfinite.specials, decisive=self.judge.paranoid
        )
        self._extremes(first)
        self._left_out(first)
        self._nans(first)
        for change in (nonfinite.infinities, nonfinite.minus_infinities):
            self._infinities(first, change)
        self._signs(first)
        self._steps_met(first)
        marks = "as many NaN or infinities as numbers, at random places, where get_inputs puts a few"
        self._marked(first, nonfinite.denser, marks)
        marks = "rows that hold nothing but the NaN or infinity that get_inputs puts at places"
        self._marked(first, nonfinite.blank_rows, marks)
        marks = "rows of which all but the last eighth is the NaN or infinity that get_inputs puts at places"
        self._marked(first, nonfinite.led_by_marks, marks)
        self._claimed(first)
        self._beside(first, enlarged.first_rows, f"the first rows of input {{}} {enlarged.TIMES} times as large")
        self._beside(first, nonfinite.row(-1), "NaN in the last row of input {}", nonfinite.row(0))
        self.conditioned = False
        for _ in range(TIE_DRAWS if self.thorough else 1):  # few elements lie on a tie
            self._ties(first, ties.dyadic)
        self._ties(first, ties.short)
        self._gradients(first)

    def _balanced(self, first: Bundle) -> None:
        """One input larger and another smaller by the same, which changes no answer of a product: what is kept of it in
        half on the way must not be out of its range."""
        nodes = [[values.dtype_named(t["dtype"]) for _, t in values.tensors_of(n)] for n in first.tree["items"]]
        floating = [index for index, kinds in enumerate(nodes) if any(kind.is_floating_point for kind in kinds)]
        pairs = [pair for pair in permutations(floating, 2) if torch.float16 in nodes[pair[0]]][:MOST_PAIRS]
        counts = partial(answers.are_as_before, base=self.base, within=NEAR[1] / 16)
        mapping = values.Mapping(first, writable=False)
        for one, other in pairs:
            given = values.tensors_of(first.tree["items"][one])
            factor = hostile.room([values.rebuild(node, mapping.bytes_of) for _, node in given])
            larger, moved = self._varied(first, hostile.times(factor), only={one})
            label = f"input {one} {factor:g} times as large and input {other} as small, which changes no answer"
            if moved:
                change = hostile.times(1 / factor)
                self._hostile_trial(larger, label, change, decisive=True, only={other}, counts=counts)

    def _raised(self, first: Bundle) -> None:
        """Large values beside a number that is larger, too: a cap lets through what an exponential does not take."""
        items = first.tree["items"]
        for index, node in enumerate(items):
            if node["kind"] == "float" and type(node["value"]) is float and RAISED <= node["value"] < math.inf:
                items_now = [*items[:index], {**node, "value": RAISED * node["value"]}, *items[index + 1 :]]
                raised = replace(first, tree={**first.tree, "items": items_now})
                label = f"values 37 times as large and input {index}, a number, {RAISED:g} times"
                self._hostile_trial(raised, label, hostile.large, decisive=True)

    def _sinks(self, first: Bundle) -> None:
        """Scores of which one has nearly all the weight and many others have a share together (sinks.py)."""
        mapping, items = values.Mapping(first, writable=False), first.tree["items"]
        data = [(i, values.rebuild(n, mapping.bytes_of)) for i, n in enumerate(items) if n["kind"] == "tensor"]
        pairs = [(i, j, queries) for (i, queries), (j, keys) in combinations(data, 2) if sinks.may_score(queries, keys)]
        for one, other, queries in pairs[:MOST_SINKS]:
            label = f"the first of input {other} along one of input {one} and all others far below it"
            self._hostile_trial(first, label, sinks.along(queries), decisive=True, only={other})

    def _nearer_to_one(self, first: Bundle) -> None:
        for index in range(len(first.tree["items"])):
            label = f"input {index} a hundred times nearer to one"
            self._hostile_trial(first, label, hostile.nearer_to_one, decisive=True, only={index})

    def _of_many(self, first: Bundle) -> None:
        """Values that tell only where there are many."""
        self.conditioned = True
        self._sinks(first)
        self._nearer_to_one(first)
        is_narrow = all(t.dtype.itemsize == 2 for t in tensors(self.base["native"]))  # no rounding of a long sum shows
        if not self.settings.simulate:  # where a call may take as long as is left
            for index in range(len(first.tree["items"])):  # parts of a sum, or of a variance, that differ
                for what, change in OF_MANY if is_narrow else OF_MANY[:1]:
                    self._hostile_trial(first, f"input {index}'s {what}", change, decisive=True, only={index})
        self.conditioned = False

    def _uneven(self, first: Bundle) -> None:
        """The one trial of this kind that a large case meets."""
        self.conditioned = True
        self._hostile_trial(first, hostile.UNEVEN, hostile.uneven, decisive=True)
        self.conditioned = False

    def _most_hostile(self, first: Bundle) -> None:
        """What a case meets whose calls take seconds: trials that tell of an edge, and of the merge of parts."""
        self._opposed(first)
        if any(t.dtype in INDEX_DTYPES for t in tensors(self.base["native"])):
            self._hostile_trial(first, TIES, hostile.HOSTILE[TIES], decisive=True)

    def _opposed(self, first: Bundle) -> None:
        """Products below zero throughout: a maximum that takes in the zeros beyond an edge shows."""
        both = [i for i in range(len(first.tree["items"])) if self._varied(first, signs.positive, only={i})[1]]
        if len(both) > 1:
            above, _ = self._varied(first, signs.positive, only={both[0]})
            label, others = f"input {both[0]} positive and the others negative", set(both[1:])
            self._hostile_trial(above, label, signs.negative, decisive=True, only=others)
            lower, moved = self._varied(above, hostile.vaster, only={both[0]})
            if moved:  # below what a maximum may start from in place of minus infinity
                label += f", the first {hostile.VASTER} times as large"
                self._hostile_trial(lower, label, signs.negative, decisive=True, only=others, roughly=True)

    def _further_draws(self, change) -> int:
        """A tie shows in one row of several: where there are few, in one draw of several."""
        rows = max(1, sum(t.numel() for t in tensors(self.base["native"])))
        return min(COARSE_DRAWS, FEW_ROWS // rows) if change is hostile.coarse and not self.case_failed() else 0

    def _hostile_trial(
        self, first: Bundle, label: str, change, decisive, kinds="float", only=None,
        counts=lambda expected: True, roughly: bool = False,
    ) -> None:
        """decisive: whether a wrong result counts, or what says so of the reference's answers. only: indices of inputs.
        counts: says of the reference's answers whether the trial is one. roughly: results that are nearly right pass:
        in long sums of equal numbers all roundings go one way."""
        new, moved = self._varied(first, change, only, kinds)
        if not moved or self.case_failed():
            return
        try:
            ties = change is hostile.coarse and not self._hangs_on_order(new)
            expected = self._reference(new, "hostile", roundings=True, ties=ties)
        except ContractError:
            return  # the reference refuses such values: they are outside what the file promises
        if change is not nonfinite.specials and not (as_finite(expected, self.base) or self._masks(expected, new)):
            return  # out of the reference's own range
        if answers.are_vast(expected, self.base) or not counts(expected):
            return
        decisive = decisive(expected) if callable(decisive) else decisive
        work = self._working_copy(new)
        reply = self._call(label, work, "b", poison="large", may_fail=True)
        error = str(reply.get("error", ""))
        if not decisive and "bundle" not in reply and "CUDA" not in error:
            self.outcome.note(f"[case {self.case}] {label}: kernel_fn raises {error[:160]}")
            return
        if self._refused(label, reply, decisive=False) or (roughly and self._nearly_right(reply, expected)):
            return
        if self._has_grown(reply, expected):
            return
        if decisive:
            has_indices = any(t.dtype in INDEX_DTYPES for t in tensors(expected["native"]))
            is_wrong = has_indices and self._failed_quietly(reply, expected)
            if is_wrong and self.hides_choice and self._hangs_on_order(new):
                self.outcome.note(f"[case {self.case}] {label}: the result depends on the order of equal values")
                return
            self._judge_trial(f"hostile inputs, {label}", reply, expected, new, work, decisive="values")
            self._teeth(expected, new)
        elif "bundle" in reply and self._failed_quietly(reply, expected):
            self.outcome.note(
                f"[case {self.case}] {label}: the result differs from the reference's "
                f"({self._worst(reply, expected)}{_leaks(reply, expected)}); right kernels may differ there, --level "
                "paranoid makes this decide"
            )

    def _has_grown(self, reply: dict, expected: dict) -> bool:
        """Of a case far larger than all of the file's: is it rounding that has?"""
        return False

    def _nearly_right(self, reply: dict, expected: dict) -> bool:
        compared = self._comparisons(reply["result"], expected)
        return all(c.passed or (not c.wrong_class and c.rms_error < answers.NEARLY * c.rms_golden) for c in compared)

    def _hangs_on_order(self, bundle: Bundle) -> bool:
        """Does the reference's answer depend on an order of equal values that PyTorch leaves open?"""
        turned = self._reference(bundle, "order", golden=False, turned=True)
        if not turned["is_free"]:
            return False
        return not same_outputs(self._reference(bundle, "order", golden=False)["native"], turned["native"])

    def _masks(self, expected: dict, bundle: Bundle) -> bool:
        """Is what is not finite masked by the values, and none of it one of equals that may be masked or not?"""
        return masks_elsewhere(expected, self.base) and not self._hangs_on_order(bundle)

    def _leaves_out(self, expected: dict, index: int) -> bool:
        """Is that input one of scores, which -1e9 leaves out as minus infinity does? As a factor it makes vast ones."""
        if not answers.are_no_larger(expected, self.base):
            return False
        new, _ = self._varied(expected["bundle"], hostile.left_out, {index})
        try:
            native = self._reference(new, "left out", golden=False)["native"]
        except ContractError:
            return False
        return not any(bool(x.isnan().any()) for x in answers.floats(native))

    def _steps_met(self, first: Bundle) -> None:
        """Data at the edges of bins and at thresholds that come as a tensor: a draw of random values is at none."""
        mapping = values.Mapping(first, writable=False)
        for index, node in enumerate(first.tree["items"]):
            steps = values.rebuild(node, mapping.bytes_of).clone() if node["kind"] == "tensor" else torch.zeros(0)
            if ties.are_steps(steps):
                others = set(range(len(first.tree["items"]))) - {index}
                label = f"values of input {index}, which ascends, at places of the others"
                self._hostile_trial(first, label, ties.at_the_steps_of(steps), decisive=True, only=others)

    def _beside(self, first: Bundle, change, what: str, other=None) -> None:
        """Some rows of an input far larger than all others, or NaN: results that do not depend on them must stay.
        other: a change that must reach as many results: where the first row reaches more than the last, as in time,
        a product with zeros in place of what comes later is as honest as any."""
        for index in range(len(first.tree["items"])):
            new, moved = self._varied(first, change, {index})
            if not moved or self.case_failed():
                continue
            try:
                native = self._reference(new, "beside", golden=False)["native"]
            except ContractError:
                continue
            if not matching(native, self.base["native"]):
                continue
            reached = self._reached(native)
            if reached is None or (other and reached != self._reached_by(first, other, index)):
                continue
            label = what.format(index)
            reply = self._call(label, self._working_copy(new), "b", poison="large", may_fail=True)
            if "bundle" not in reply or not self._has_structure(reply, self.base):
                continue
            compared = self._compared(reply["result"], self.base, elsewhere=native)
            # One or two a rounding may have decided, of whatever is rounded on the way: what leaks, leaks into rows.
            if failed := [c for c in compared if not c.passed and (c.wrong > FEW_WRONG or c.wrong_class)]:
                seen = f"With {label} results that do not depend on them are wrong: {diagnosis.numbers(failed[0])}."
                self.outcome.add("other-values", seen, self.case)

    def _reached(self, native) -> int | None:
        """How many elements lie in rows of results that are not the first ones'; None where no row is."""
        pairs = zip(tensors(self.base["native"]), tensors(native), strict=True)
        same = [same_rows(before, now) for before, now in pairs]
        return sum(int((~rows).sum()) for rows in same) if any(bool(rows.any()) for rows in same) else None

    def _reached_by(self, first: Bundle, change, index: int) -> int | None:
        with suppress(ContractError):
            native = self._reference(self._varied(first, change, {index})[0], "beside", golden=False)["native"]
            return self._reached(native) if matching(native, self.base["native"]) else None
        return None

    def _ties(self, first: Bundle, change) -> None:
        """Values on which the reference rounds nowhere but where it means to: a tie is one for every kernel."""
        new, moved = self._varied(first, change)
        if not moved or self.case_failed():
            return
        new = ties.dyadic_numbers(new)
        new, _ = self._varied(new, ties.meeting(new))
        file = self.judge.new_file("choices")
        try:
            expected = self._reference(new, "ties", choices=values.save([], file).to_json())
        except ContractError:
            return
        finally:
            file.unlink()
        if not finite(expected) or expected["is_hidden"]:
            return
        if not self.judge.ask_oracle("is_exact", bundle=new.to_json())["exact"]:
            return
        expected["moved"] = expected["golden"]  # a tie moves to either side, but there is nothing that moves it
        if not expected["is_free"]:  # nor is there anything to forgive
            expected["tipped"] = None
        reply = self._call("numbers of few digits", self._working_copy(new), "b", poison="large", may_fail=True)
        if self._failed_quietly(reply, expected):
            seen = "On numbers of so few digits that nothing is rounded before it is meant to be, the result is wrong"
            self.outcome.add("other-values", f"{seen}: {self._worst(reply, expected)}.", self.case)

    def _signs(self, first: Bundle) -> None:
        """Inputs of one sign get both: relu, abs and max(x, 0) do nothing on the values of torch.rand.

        A kernel that answers NaN there, or refuses, stays outside its domain openly; a number must be the right one.
        """
        one_signed = [i for i in range(len(first.tree["items"])) if self._varied(first, signs.both, only={i})[1]]
        sets = [set(one_signed), *({i} for i in one_signed if len(one_signed) > 1)] if one_signed else ()
        changes = [(signs.both, only) for only in sets] + [(signs.below_zero, {i}) for i in one_signed]
        for change, only in changes:
            new, moved = self._varied(first, change, only=only)
            if not moved:
                continue
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
                    f"Where the values of input {named} have {SIGNS[change]}, the result is wrong: "
                    f"{self._worst(reply, expected)}.",
                    self.case,
                )


def _offset(node: dict) -> tuple[int, float]:
    """How far to move such an input, and how little the answers may change then."""
    kinds = [values.dtype_named(tensor["dtype"]) for _, tensor in values.tensors_of(node)]
    return NEAR if any(kind.is_floating_point and kind.itemsize < 4 for kind in kinds) else FAR


def _are_numbers(expected: dict) -> bool:
    """Are all results finite, and none indices? Which of several small values is the largest, rounding decides."""
    return finite(expected) and not any(t.dtype in INDEX_DTYPES for t in tensors(expected["native"]))


def _leaks(reply: dict, expected: dict) -> str:
    """Where a kernel is not finite and the reference is, one row's NaN gets into another; the other way round the
    reference may have made 0 * NaN of what the kernel does not read."""
    pairs = zip(floats(reply["result"]), floats(expected["native"]), strict=False)
    leaks = sum(int((~y.isfinite() & n.isfinite()).sum()) for y, n in pairs if y.shape == n.shape)
    return f"; {leaks} of them are not finite where the reference is: does NaN leak there?" if leaks else ""
