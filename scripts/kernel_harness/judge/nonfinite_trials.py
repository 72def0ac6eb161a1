"""Trials with NaN, infinities and the largest finite numbers among the inputs."""

from __future__ import annotations

from contextlib import suppress

import torch

from .. import values
from ..comparison.structure import finite, floats, tensors
from ..contract import ContractError, read_source
from ..inputs import claims, nonfinite
from ..values import Bundle
from . import answers
from .judgement import FEW_WRONG
from .rule_breakers import RuleBreakers

MOST_LEFT_OUT = 6  # pairs of inputs, of which one leaves out parts of the other


class NonfiniteTrials(RuleBreakers):
    """Where the reference stays finite, the kernel must be right."""

    def _left_out(self, first: Bundle) -> None:
        """NaN where flags or lengths leave an input out: in padding lies whatever was there, and zero times that is
        not zero. A reference that multiplies, too, says so by its own NaN."""
        mapping, tried = values.Mapping(first, writable=False), 0
        given = [(i, values.rebuild(n, mapping.bytes_of)) for i, n in enumerate(first.tree["items"])
                 if n["kind"] == "tensor"]
        pairs = [(at, marks, index) for at, marks in given for index, _ in given if nonfinite.may_mark(marks)]
        for at, marks, index in pairs:
            for value in (False, True) if marks.dtype is torch.bool else (None,):
                new, moved = self._varied(first, nonfinite.where_left_out(marks, value), {index})
                if not moved or tried == MOST_LEFT_OUT or self.case_failed():
                    continue
                tried += 1
                try:
                    expected = self._reference(new, "left out", roundings=True)
                except ContractError:
                    continue
                if not floats(expected["native"]) or not finite(expected):
                    continue
                label = f"NaN in input {index} wherever input {at} leaves it out"
                reply = self._call(label, self._working_copy(new), "b", poison="large", may_fail=True)
                if not self._refused(label, reply, decisive=False) and self._failed_quietly(reply, expected):
                    seen = f"With {label} the reference is finite, and the result is wrong"
                    self.outcome.add("other-values", f"{seen}: {self._worst(reply, expected)}.", self.case)

    def _extremes(self, first: Bundle) -> None:
        """The largest finite numbers, for a kernel that has made no rounding of its own: what only moves, chooses or
        converts them has none to make there. Arithmetic may overflow on the way, and of that an index tells nothing."""
        mine = [c for c in self.outcome.comparisons if c["case"] == self.case and c["total"]]
        floating = [c for c in mine if "float" in c["dtype"]]
        label = "the largest finite numbers at a few places"
        if floating and self._only_moves(first):
            exact = not any(c["budget_used"] for c in floating if c["trial"] == "first inputs")
            self._moved_exactly(first, label) if exact else None
        elif floating and not any(c["budget_used"] for c in floating):
            self._hostile_trial(first, label, nonfinite.extremes, decisive=True)

    def _moved_exactly(self, first: Bundle, label: str) -> None:
        """Beside such numbers a bound lets any other pass: what was moved to the bit must be so still."""
        new, moved = self._varied(first, nonfinite.extremes)
        if not moved or self.case_failed():
            return
        try:
            expected = tensors(self._reference(new, "extremes", golden=False)["native"])
        except ContractError:
            return
        reply = self._call(label, self._working_copy(new), "b", poison="large", may_fail=True)
        if "bundle" not in reply or not self._has_structure(reply, self.base):
            return
        pairs = [(a, b) for a, b in zip(tensors(reply["result"]), expected, strict=True) if b.dtype.is_floating_point]
        wrong = sum(int((a != b).sum()) for a, b in pairs if a.shape == b.shape)
        if wrong > FEW_WRONG:
            seen = f"With {label} {wrong} numbers, which the reference only moves, are not those that it moves there."
            self.outcome.add("other-values", seen, self.case)

    def _only_moves(self, first: Bundle) -> bool:
        """Are all numbers of the results among the inputs'? What is as large comes back then, whatever the order."""
        mapping = values.Mapping(first, writable=False)
        given = [values.rebuild(node, mapping.bytes_of) for _, node in values.tensors_of(first.tree)]
        given = [torch.view_as_real(x) if x.is_complex() else x for x in given]
        known = torch.cat([torch.zeros(0), *(x.to(torch.float64).flatten() for x in given if x.is_floating_point())])
        return all(bool(torch.isin(x, known).all()) for x in floats(self.base["native"]))

    def _nans(self, first: Bundle) -> None:
        """A reference that is finite whatever NaN it gets is about NaN: there the kernel's must be, too."""
        new, moved = self._varied(first, nonfinite.nans)
        if not moved or self.case_failed():
            return
        try:
            expected = self._reference(new, "nans", roundings=True)
        except ContractError:
            return
        before, now = (tensors(e["native"]) for e in (self.base, expected))
        about = {i for i, (t, old) in enumerate(zip(now, before, strict=False)) if _is_about(t, old)}
        if len(about) < len(now):  # beside what is NaN a number may come from its bits; a flag says something
            about = {i for i in about if _are_flags(now[i]) and _are_flags(before[i])}
        if not about:
            return
        with suppress(ContractError):  # a few may have fallen where the reference happens not to look
            many = tensors(self._reference(self._varied(first, nonfinite.many_nans)[0], "nans", golden=False)["native"])
            if not all(bool(torch.isfinite(many[i]).all()) for i in about):
                return
        reply = self._call("NaN at a few places", self._working_copy(new), "b", poison="large", may_fail=True)
        if "bundle" not in reply:
            return
        results = tensors(reply["result"])
        if not all(bool(torch.isfinite(t).all()) for i, t in enumerate(results) if i in about):
            seen = "Where inputs are NaN the kernel's result is not finite, and the reference's is."
            self.outcome.add("other-values", seen, self.case)
        elif len(about) < len(now) == len(results):  # a flag beside what is NaN
            compared = enumerate(self._comparisons(reply["result"], expected))
            if wrong := [i for i, c in compared if i in about and not c.passed]:
                seen = f"Where inputs are NaN the reference's output {wrong[0]} is finite, and the kernel's is wrong"
                self.outcome.add("other-values", f"{seen}: {self._worst(reply, expected)}.", self.case)

    def _infinities(self, first: Bundle, change) -> None:
        """A reference that is finite where an input is infinite, and something else where it is merely large, is about
        infinity: there the kernel must be right, too. (Where it nears a limit, as a sigmoid does, it is not.)"""
        new, moved = self._varied(first, change)
        if not moved or self.case_failed():
            return
        large, _ = self._varied(new, nonfinite.large)
        try:
            expected, limit = (self._reference(bundle, "infinities", roundings=True) for bundle in (new, large))
        except ContractError:
            return
        # Integers and codes are finite whatever they come from: an index beside NaN says nothing.
        dtypes = {t.dtype for t in tensors(expected["native"])}
        if not any(t.is_floating_point and t.itemsize > 1 for t in dtypes) or not finite(expected):
            return
        if all(c.passed for c in self._compared(expected["native"], limit)):
            return
        reply = self._call("infinities at a few places", self._working_copy(new), "b", poison="large", may_fail=True)
        if self._failed_quietly(reply, expected):
            seen = "Where inputs are infinite the reference is finite by a rule of its own, and the result is wrong"
            self.outcome.add("other-values", f"{seen}: {self._worst(reply, expected)}.", self.case)

    def _claimed(self, first: Bundle) -> None:
        """NaN and minus infinity, where docstrings say that inputs may hold them. Of a row without a number the
        reference must make one."""
        tree = read_source(self.settings.kernel)[1]
        if claims.takes_nan(tree):
            said = "NaN, which the docstring says inputs may hold, at a few places"
            self._marked(first, nonfinite.nans, said, is_taken=lambda expected, base: True)
        if claims.takes_minus_infinity(tree):
            said = "-inf, which the docstring says inputs may hold,"
            self._marked(first, nonfinite.forbidden, f"{said} at half of all places")
            of_rows = lambda expected, base: finite(expected)
            self._marked(first, nonfinite.forbidden_rows, f"{said} throughout some rows", is_taken=of_rows)

    def _marked(self, first: Bundle, change, label: str, is_taken=answers.are_mostly_finite) -> None:
        """Where get_inputs puts a few infinities or NaN, many: a window, a lane or a row that holds nothing else.
        is_taken: of the reference's results and those on get_inputs' own values."""
        new, moved = self._varied(first, change)
        if not moved or self.case_failed():
            return
        try:
            expected = self._reference(new, "marks", roundings=True)
        except ContractError:
            return
        if not is_taken(expected, self.base):
            return
        reply = self._call(label, self._working_copy(new), "b", poison="large", may_fail=True)
        if not self._refused(label, reply, decisive=False) and self._failed_quietly(reply, expected):
            seen = f"With {label} the result is wrong: {self._worst(reply, expected)}."
            self.outcome.add("other-values", seen, self.case)


def _are_flags(result: torch.Tensor) -> bool:
    return bool(((result == 0) | (result == 1)).all())


def _is_about(result: torch.Tensor, before: torch.Tensor) -> bool:
    """Is it finite, and another than before?"""
    is_float = result.dtype.is_floating_point and result.dtype.itemsize > 1
    is_finite = is_float and bool(result.numel()) and bool(torch.isfinite(result).all())
    return is_finite and (result.shape != before.shape or not torch.equal(result, before))
