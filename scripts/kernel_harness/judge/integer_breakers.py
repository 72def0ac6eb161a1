"""Integers of other signs and widths than those of get_inputs, and those that the reference sets apart."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from .. import values
from ..comparison import structure
from ..comparison.structure import same_outputs
from ..contract import ContractError, read_source
from ..inputs import claims, indices, integers, masks, reference_source, structured, thresholds
from ..values import Bundle
from .file_checks import FileChecks
from .rule_breaker import RuleBreaker

MOST_THRESHOLDS = 8
MOST_DIVISORS = 2
MOST_COUNTED = 64  # times a count of the case: more may take all memory


class IntegerBreakers(FileChecks):
    """Makes them of a case's first inputs."""

    def _moves(self, bundle: Bundle, is_taken: bool = False) -> bool:
        """Does the reference take these inputs, and answer something else than on the first ones? is_taken: what to
        say where it does not take them."""
        try:
            return not same_outputs(self._reference(bundle, "argument", golden=False)["native"], self.base["native"])
        except ContractError:
            return is_taken

    def _accepts(self, bundle: Bundle) -> bool:
        """Does the reference take these inputs?"""
        try:
            self._reference(bundle, "argument", golden=False)
        except ContractError:
            return False
        return True

    def _other_widths(self, first: Bundle) -> list[RuleBreaker]:
        """Integers of other signs and widths than get_inputs'."""
        pictures = {masks.winding: "one winding line of ones", masks.staircase: "a staircase of ones"}
        changes = (
            (integers.both_signs, "integers of both signs"),
            (integers.middle_width, "integers of fifteen bits"),
            (integers.whole_width, "integers that fill their type"),
            (integers.widest, "integers whose sums have sixty bits"),
            (integers.top, "integers near the top of their type"),
            (masks.one_each, "one True in each row"),
            *pictures.items(),
        )
        found = []
        dtypes = {values.dtype_named(node["dtype"]) for _, node in values.tensors_of(first.tree)}
        for change, what in changes:
            new, moved = self._varied(first, change, kinds="index")
            if moved and self._moves(new):
                fills = change is integers.whole_width and dtypes.isdisjoint(integers.WIDE)
                codes = fills or change is integers.both_signs  # the sign may be the highest bit of a packed field
                slip = change not in pictures  # of which each value is one that get_inputs draws
                found.append(RuleBreaker("replay", what, new, decides=True, slip=slip, codes=codes))
        return found + self._undivided(first) + self._opposite_bits(first) + self._stretched(first)

    def _undivided(self, first: Bundle) -> list[RuleBreaker]:
        """Integers that fill their type beside a 1: divided by a number like get_inputs' they have few bits left."""
        items, found = first.tree["items"], []
        numbers = [i for i, node in enumerate(items) if node["kind"] == "int" and type(node["value"]) is int]
        for index in [i for i in numbers if items[i]["value"] > 1][:MOST_DIVISORS]:
            ones = [{**node, "value": 1} if i == index else node for i, node in enumerate(items)]
            by_one = replace(first, tree={**first.tree, "items": ones})
            new, moved = self._varied(by_one, integers.whole_width, kinds="index")
            if moved and self._moves(new):
                what = f"integers that fill their type and 1 in place of {items[index]['value']} for input {index}"
                # Where any values are promised, and integers come of them, no rounding and no range is an excuse.
                is_exact = claims.takes_any_value(read_source(self.settings.kernel)[1]) and not structure.floats(
                    self.base["native"])
                found.append(RuleBreaker("other-values", what, new, decides=True, slip=not is_exact))
        return found

    def _opposite_bits(self, first: Bundle) -> list[RuleBreaker]:
        """Words of bits against others of which each bit differs: a field that counts them is as full as it gets."""
        mapping, found = values.Mapping(first, writable=False), []
        tensors = [(i, values.rebuild(n, mapping.bytes_of)) for i, n in enumerate(first.tree["items"])
                   if n["kind"] == "tensor"]
        words = [index for index, x in tensors if integers.are_bits(x)]
        for index in words if len(words) > 1 else ():
            none, _ = self._varied(first, integers.throughout(0), set(words) - {index}, "index")
            new, _ = self._varied(none, integers.throughout(-1), {index}, "index")
            if self._moves(new):
                what = f"all bits of input {index} set and none of the other words"
                found.append(RuleBreaker("replay", what, new, decides=True))
        return found

    def _stretched(self, first: Bundle) -> list[RuleBreaker]:
        """Narrow integers of which the reference chooses some (a maximum, a median) and computes with none: where
        they fill their type, in the order of before, it chooses the same ones. They are no codes or indices then."""
        mapping, found = values.Mapping(first, writable=False), []
        given = [(i, node) for i, node in enumerate(first.tree["items"]) if node["kind"] == "tensor"]
        for index, x in ((i, values.rebuild(node, mapping.bytes_of)) for i, node in given):
            if (change := integers.stretched(x)) is None:
                continue
            new, _ = self._varied(first, change, {index}, "index")
            if self._moves(new):
                now = structure.tensors(self._reference(new, "argument", golden=False)["native"])
                before = structure.tensors(self.base["native"])
                chosen = [change(t, None) if t.dtype == x.dtype else t for t in before]
                if len(now) == len(before) and all(map(torch.equal, now, chosen)):
                    what = f"integers of input {index} that fill their type, in the order of before,"
                    found.append(RuleBreaker("replay", what, new, decides=True))
        return found

    def _other_integers(self, first: Bundle) -> list[RuleBreaker]:
        """Integers of other signs and widths, those that the reference sets apart, and what it compares inputs with."""
        found = self._other_widths(first)
        tree = read_source(self.settings.reference or self.settings.kernel)[1]
        numbers = [node["value"] if node["kind"] == "int" else None for node in first.tree["items"]]
        for value, inputs in reference_source.special_values(tree, numbers):
            for index in range(len(first.tree["items"])) if inputs is None else sorted(inputs):
                for put in (integers.put, integers.put_run, integers.put_throughout):
                    new, moved = self._varied(first, put(value), only={index}, kinds="index")
                    if moved and self._moves(new):
                        what = f"{value}, which the reference sets apart, at places of input {index}"
                        says = {"decides": True, "named": True, "openly": True}
                        found.append(RuleBreaker("ignored-argument", what, new, **says))
        for index in sorted(reference_source.asks_whether_zero(tree)):
            new, moved = self._varied(first, integers.other_truths, {index}, "index")
            if moved and not self._moves(new, is_taken=True):
                what = f"other numbers than 1 for what the reference only asks whether it is zero, input {index},"
                found.append(RuleBreaker("other-values", what, new, decides=True))
        new, moved = self._varied(first, integers.late, kinds="index")
        if moved and not self._moves(new, is_taken=True):
            what = f"integers that all lie {integers.LATE} further, which changes no answer,"
            found.append(RuleBreaker("other-values", what, new, decides=True))
        for index in sorted(reference_source.only_rounded(tree)):
            new, moved = self._varied(first, structured.further, {index}, "index")
            if moved and self._moves(new):
                what = f"numbers four times as far for input {index}, integers with which the reference only computes,"
                found.append(RuleBreaker("other-values", what, new, decides=True))
        for index in range(len(first.tree["items"])) if claims.counts_from_the_end(tree) else ():
            new, moved = self._varied(first, indices.from_the_end, {index}, "index")
            if moved and self._moves(new):
                what = f"negative indices, which the docstring takes, at half of the places of input {index}"
                found.append(RuleBreaker("other-values", what, new, decides=True))
        for index in sorted(claims.below_zero(tree)):
            new, moved = self._varied(first, integers.opposite, {index}, "index")
            if moved and self._moves(new):
                what = f"negative integers, which the docstring takes, at half of the places of input {index}"
                found.append(RuleBreaker("other-values", what, new, decides=True))
        return found + self._thresholds(first, tree)

    def _at_their_ends(self, first: Bundle) -> list[RuleBreaker]:
        """Numbers that are the first or last of those which a docstring takes; no counts far above the case's. Where it
        takes any, one that is larger than every dimension."""
        tree, items, found = read_source(self.settings.kernel)[1], first.tree["items"], []
        largest = max((size for _, node in values.tensors_of(first.tree) for size in node["shape"]), default=0)
        names = claims.parameters(tree)[: len(items)]
        for name, ends in claims.ranges(tree, names).items():
            index = names.index(name)
            kind, old = items[index]["kind"], items[index].get("value")
            if kind not in ("int", "float") or isinstance(old, str):
                continue
            ends = [largest + 1 if math.isinf(end) else end for end in ends]
            for end in (int(end) if kind == "int" else float(end) for end in ends):
                if end == old or (kind == "int" and end > MOST_COUNTED * max(old, 1)):
                    continue
                changed = [*items[:index], {**items[index], "value": end}, *items[index + 1 :]]
                new = replace(first, tree={**first.tree, "items": changed})
                if self._accepts(new):
                    what = f"{end} in place of {old} for input {index}, which the docstring takes,"
                    found.append(RuleBreaker("ignored-argument", what, new, decides=True))
        return found

    def _thresholds(self, first: Bundle, tree) -> list[RuleBreaker]:
        """Inputs that meet the numbers with which the reference compares them."""
        numbers = [node["value"] if node["kind"] in ("int", "float") else None for node in first.tree["items"]]
        found = []
        for value, index in thresholds.compared(tree, [n if type(n) in (int, float) else None for n in numbers]):
            for kinds in ("float", "ruled", "index") if len(found) < MOST_THRESHOLDS else ():
                new, moved = self._varied(first, thresholds.put(value), {index}, kinds)
                if moved and self._moves(new):
                    what = f"{value}, with which the reference compares input {index}, at places of it"
                    found.append(RuleBreaker("ignored-argument", what, new, decides=True))
        return found
