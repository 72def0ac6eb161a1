"""Inputs that break the rules of get_inputs, or keep them with other values: which there are, and what they tell."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import torch

from .. import values
from ..comparison import structure
from ..comparison.structure import finite, floats, same_outputs
from ..contract import ContractError, read_source
from ..inputs import alike, claims, indices, integers, masks, reference_source, structured, variations
from ..inputs.arguments import MOST_WORDS, other_arguments, words_in
from ..values import Bundle
from .integer_breakers import IntegerBreakers
from .rule_breaker import RuleBreaker

MOST_SCALARS = 8
COUNTERS = ("offset", "counter", "subsequence")  # in names of what a generator of random numbers counts on from
LAID_OUT_BYTES = 2**26  # of inputs that are laid out anew, on the CPU
MOST_GROWN = 4  # inputs, of each of which one element grows
PAIRS = 3  # of integers that change places, one at a time
INDEX_BITS = (8, 16)  # of the types in which a kernel may keep indices
EMPTYINGS = 3  # draws: what follows an empty segment matters, too


class RuleBreakers(IntegerBreakers):
    """Makes them of a case's first inputs."""

    def _rule_breakers(self, first: Bundle) -> list[RuleBreaker]:
        """Inputs with other integers and masks, other numbers, and other values than those that keep a rule."""
        new, moved = self._varied(first, variations.scramble, kinds="index")
        found = []
        if moved and self._moves(new):
            found.append(RuleBreaker("replay", "other integers or masks in the same memory", new))
        new, moved = self._varied(first, variations.swap, kinds="index")
        if moved and self._moves(new):  # what is looked at in a few places may be as before
            found.append(RuleBreaker("replay", "a few integers or masks in each other's place", new, again=True))
        for _ in range(PAIRS):
            new, moved = self._varied(first, variations.swap_one, kinds="index")
            if moved and self._moves(new):  # kept under sums and samples, or unread
                found.append(RuleBreaker("ignored-argument", "two integers in each other's place", new, again=True))
        for index in range(min(len(first.tree["items"]), MOST_GROWN)):
            new, moved = self._varied(first, variations.grow_one, {index})
            if moved and self._moves(new):  # the maximum of a call before, kept under what is looked at, is none now
                what = f"one element of input {index}, behind its first row, twice the largest,"
                found.append(RuleBreaker("ignored-argument", what, new, decides=True, again=True))
        found += self._other_arguments(first)
        found += self._options_never_given(first)
        found += self._other_integers(first) + self._at_their_ends(first)
        found += self._other_fixed_integers(first)
        found += self._rule_keepers(first)
        found += self._other_labels(first)
        devices = {span.device for span in first.spans}  # several: a 0-d tensor is on the CPU
        if first.size <= LAID_OUT_BYTES and len(devices) == 1:
            found += self._unlike(first) + self._strided(first) + self._moved_along(first)
        for index in range(len(first.tree["items"])):
            new, moved = self._varied(first, variations.pry, only={index}, kinds="ruled")
            if moved:
                what = f"other values than those of get_inputs, which keep a rule, for input {index}"
                found.append(RuleBreaker("ignored-argument", what, new))
        mapping = values.Mapping(first, writable=False)
        inputs = [values.rebuild(node, mapping.bytes_of) for _, node in values.tensors_of(first.tree)]
        floating = [x for x in inputs if x.is_floating_point() or x.is_complex()]
        if all(map(structured.is_whole, floating)):  # else a fraction shows digits
            new, moved = self._varied(first, structured.lengthened, kinds="ruled")
            if moved:
                what = "whole numbers of more digits than get_inputs', of which none has a fraction,"
                found.append(RuleBreaker("ignored-argument", what, new, decides=True, nearly=True))
        return found

    def _other_arguments(self, first: Bundle) -> list[RuleBreaker]:
        """Another value of each argument that is no tensor; in place of a name some others that the reference knows."""
        paths = (self.settings.kernel, self.settings.reference)
        words = [word for path in paths if path for word in words_in(read_source(path)[1])]
        found, named, moves = [], 0, False
        tree = read_source(self.settings.reference or self.settings.kernel)[1]
        seeds, *counters = (reference_source.named(tree, word) for word in ("seed", *COUNTERS))
        for other in other_arguments(first, words, seeds, set().union(*counters)):
            if len(found) - named >= MOST_SCALARS and not (other.is_named or other.is_zero):
                continue
            if other.is_fourth and moves:
                continue
            moves = (type(other.old) is int or other.is_zero) and self._moves(other.bundle)
            if (other.is_fourth or other.is_zero) and not moves:
                continue
            if other.is_named:
                if named == MOST_WORDS or not self._moves(other.bundle):
                    continue
                named += 1
            what = f"{other.new!r} in place of {other.old!r} for input {other.index}"
            says = {"decides": True, "partly": not other.decides}
            found.append(RuleBreaker("ignored-argument", what, other.bundle, **says))
        return found

    def _numbers(self, first: Bundle) -> list[RuleBreaker]:
        """Another value of each float of a case that has integers, too: what is folded for late steps holds for some
        rates only. A share comes nearer to one."""
        if not {"int", "float"} <= {node["kind"] for node in first.tree["items"]}:
            return []
        found = {}
        for other in other_arguments(first):
            if type(other.old) is type(other.new) is float and other.new:
                best = found.setdefault(other.index, other)
                found[other.index] = other if 0.5 < other.old < 1 and best.new > 1 > other.new else best
        chosen = [(f"{o.new!r} in place of {o.old!r} for input {o.index}", o.bundle) for o in found.values()]
        return [RuleBreaker("ignored-argument", *other, decides=True) for other in chosen[:MOST_SCALARS]]

    def _options_never_given(self, first: Bundle) -> list[RuleBreaker]:
        """What kernel_fn and reference_fn may be given, too, and get_inputs does not give: each alone, the others as by
        default. In place of None a factor for each element, for each of the last dimension, and a number. Which shape
        such a tensor may have no case shows: it only must not be ignored."""
        given, kernel_tree = len(first.tree["items"]), read_source(self.settings.kernel)[1]
        tree = read_source(self.settings.reference)[1] if self.settings.reference else kernel_tree
        defaults = reference_source.shared_options(tree, kernel_tree, given)
        mapping, found = values.Mapping(first, writable=False), []
        items = [values.rebuild(node, mapping.bytes_of) for node in first.tree["items"]]
        data = next((x for x in items if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dim()), None)
        if not defaults or data is None or first.size > LAID_OUT_BYTES or len({s.device for s in first.spans}) > 1:
            return []
        kind = {"dtype": data.dtype if data.dtype.itemsize > 1 else torch.float32}
        for at, default in enumerate(defaults):
            choices = [torch.rand(data.shape, **kind) + 0.5, torch.rand(data.shape[-1:], **kind) + 0.5, 0.375]
            if type(default) is bool:
                choices = [not default]
            elif type(default) in (int, float):
                choices = [default + 1, 2 * default + 1] if type(default) is int else [0.25, 0.5]
            elif default is not None:
                continue
            for choice in choices:
                chosen = [*items, *defaults[:at], choice, *defaults[at + 1 :]]
                new = self._laid_out(chosen, first)
                if self._takes(new, given + at):
                    is_number = not isinstance(choice, torch.Tensor)
                    what = repr(choice) if is_number else f"a tensor {tuple(choice.shape)}"
                    what += f" for argument {given + at}, which get_inputs never gives,"
                    found.append(RuleBreaker("ignored-argument", what, new, decides=is_number))
                    break
        return found

    def _takes(self, bundle: Bundle, index: int) -> bool:
        """Is the reference's answer another, of finite tensors like those before, and is that input no out= of it?"""
        declared = self.judge.mutates
        self.judge.mutates = declared | {index}
        try:
            expected = self._reference(bundle, "argument", golden=False)
        except ContractError:
            return False
        finally:
            self.judge.mutates = declared
        now, before = expected["native"], self.base["native"]
        is_another = structure.matching(now, before) is not None and not same_outputs(now, before)
        return is_another and finite(expected) and index not in expected["mutated"]

    def _other_fixed_integers(self, first: Bundle) -> list[RuleBreaker]:
        """Those that get_inputs makes alike every time, without those it draws, among which they would go unseen."""
        again = self._other_inputs(first)[0]
        mapped = [values.Mapping(bundle, writable=False) for bundle in (first, again)]
        indices, fixed = set(), set()
        for index, nodes in enumerate(zip(first.tree["items"], again.tree["items"], strict=True)):
            one, other = (
                [values.rebuild(node, mapping.bytes_of) for _, node in values.tensors_of(tree)]
                for tree, mapping in zip(nodes, mapped, strict=True)
            )
            if one and not any(t.dtype.is_floating_point or t.dtype.is_complex for t in one):
                indices.add(index)
                if all(torch.equal(a, b) for a, b in zip(one, other, strict=True)):
                    fixed.add(index)
        new, moved = self._varied(first, variations.scramble, fixed, "index") if fixed < indices else (first, False)
        what = "others of the integers that get_inputs makes alike every time"
        return [RuleBreaker("ignored-argument", what, new)] if moved and self._moves(new) else []

    def _rule_keepers(self, first: Bundle) -> list[RuleBreaker]:
        """Other integers, masks and probabilities that keep what rules can be seen in those of get_inputs."""
        mapping = values.Mapping(first, writable=False)
        tensors = {
            index: values.rebuild(node, mapping.bytes_of)
            for index, node in enumerate(first.tree["items"])
            if node["kind"] == "tensor"
        }
        whole = {i: t for i, t in tensors.items() if t.dtype in (torch.int32, torch.int64) and t.dim()}
        sizes = sorted({size for t in tensors.values() for size in t.shape})
        counts = [node["value"] for node in first.tree["items"] if node["kind"] == "int"]
        takes_repeats = reference_source.takes_repeats(read_source(self.settings.reference or self.settings.kernel)[1])
        says_repeats, found = claims.takes_repeats(read_source(self.settings.kernel)[1]), []

        def add(change, what: str, index: int, kinds: str = "index", moves: bool = True, **says) -> None:
            new, moved = self._varied(first, change, {index}, kinds)
            if moved and (self._moves(new) if moves else self._accepts(new)):
                found.append(RuleBreaker("ignored-argument", f"{what} in input {index}", new, **says))

        def crowd(index: int) -> None:
            add(integers.crowded, "most integers alike", index, decides=True)
            if not floats(self.base["native"]):  # sums of one value round alike, and further than those of several
                add(integers.uniform, "all integers alike", index, decides=True)

        for index, x in whole.items():
            if x.dim() > 1 and bool((x == 1).all()):
                add(variations.scramble, "zeros among the ones", index, decides=True)
            add(integers.shorter, "integers of at most a third of the smallest", index, decides=True)
            if integers.lacks_zero(x):
                add(integers.put_one(0), "a zero, which get_inputs does not make,", index, decides=True, partly=True)
            for bits in INDEX_BITS if len(whole) == 1 or x.dim() > 1 else ():  # else in order within their segments
                what = f"neighbours that differ by {1 << bits} alone"
                add(integers.same_low_bits(bits), what, index, moves=False, decides=True)
            add(integers.chained, "each the place before its own", index, decides=True)
            add(integers.swapped, "neighbours that change places", index, decides=True)
            if says_repeats:
                what = "integers that are equal to those before them, as the docstring says they may be,"
                add(indices.as_before, what, index, decides=True)
            if takes_repeats:
                add(integers.repeated, "indices that come twice, as the reference takes them,", index, decides=True)
            if not any(integers.are_told_by(x, y) for i, y in whole.items() if i != index):
                add(integers.cut_elsewhere, "other offsets between the first and the last", index)
                for _ in range(EMPTYINGS):
                    add(integers.emptied, "empty segments among the offsets", index, decides=True, openly=True)
                if max(counts, default=0) < integers.longest_segment(x):  # else it may say how long one can be
                    add(integers.gathered, "nearly all in one segment by the offsets", index, decides=True, openly=True)
        if len(whole) == 1:
            [(index, x)] = whole.items()
            new, moved = self._varied(first, integers.not_one_for_all, {index}, "index")
            if moved and self._moves(new):
                file = self.judge.new_file("varied")
                twin = variations.varied(new, file, integers.first_for_all, 0, {index}, "index")
                what = f"others for the integers of input {index}, which are all one,"
                says = {"twin": twin[0], "instead": "the first of them for all"}
                found.append(RuleBreaker("ignored-argument", what, new, **says))
            if max(counts, default=0) < integers.most_alike(x):  # else it may be how many of a kind there are
                crowd(index)
            for size in (s for s in sizes if integers.is_wider(s - 1, x)):
                past = self._varied(first, integers.put_one(size), {index}, "index")[0]
                if not self._moves(past):  # that many it indexes, and no more
                    add(integers.put_one(size - 1), f"{size - 1}", index, decides=True)
        for index, x in tensors.items():
            if x.dtype is torch.bool:
                add(masks.elsewhere, "as many True at other places of each row", index)
                add(masks.led_by_false, "rows that begin with seven eighths of False", index, decides=True, openly=True)
                add(masks.hollow, "rows without any True", index, decides=True, openly=True, zeros=True)
            elif x.dtype in integers.NARROW and x.dim() and integers.is_data(x):
                crowd(index)
            elif x.dtype.is_floating_point:
                add(structured.sparser, "zeros among probabilities", index, "ruled", decides=True, openly=True)
                what = "numbers between 0 and 1, where get_inputs makes none but these two,"
                says = index in claims.any_numbers(read_source(self.settings.kernel)[1])
                add(structured.between_flags, what, index, "ruled", advice=not says, decides=says, known=True)
                for kinds in ("float", "ruled"):
                    add(structured.toggled, "the other of 0 and 1", index, kinds, decides=True)
        return found

    def _other_labels(self, first: Bundle) -> list[RuleBreaker]:
        """A negative number that is an argument and sets integers apart (an ignored label) becomes another."""
        mapping, items, found = values.Mapping(first, writable=False), first.tree["items"], []
        numbers = {index: node["value"] for index, node in enumerate(items) if node["kind"] == "int"}
        tensors = {i: values.rebuild(n, mapping.bytes_of) for i, n in enumerate(items) if n["kind"] == "tensor"}
        for at, old in numbers.items():
            for index, x in tensors.items():
                new = integers.other_label(x, old)
                if new is None:
                    continue
                unnamed = self._varied(first, integers.relabel(old, new), {index}, "index")[0]
                changed = [*items[:at], {**items[at], "value": new}, *items[at + 1 :]]
                named = replace(unnamed, tree={**unnamed.tree, "items": changed})
                if self._moves(named):
                    what = f"{new} in place of {old} for input {at} and in input {index}"
                    says = {"twin": unnamed, "instead": f"{old} for input {at}"}
                    found.append(RuleBreaker("ignored-argument", what, named, **says))
        return found

    def _unlike(self, first: Bundle) -> list[RuleBreaker]:
        """Integers that are no multiples, where all of get_inputs' are; slices that differ, where it expands one."""
        mapping, found = values.Mapping(first, writable=False), []
        items = [values.rebuild(node, mapping.bytes_of) for node in first.tree["items"]]
        for index, x in enumerate(items):
            if not isinstance(x, torch.Tensor):
                continue
            if step := integers.common_multiple(x):
                new, moved = self._varied(first, integers.off_multiples(step), {index}, "index")
                if moved and self._moves(new):
                    what = f"integers in input {index} that are no multiples of {step}, as all of get_inputs' are,"
                    known = integers.are_offsets(x)  # aligned for tiles that find their segment by them
                    found.append(RuleBreaker("ignored-argument", what, new, advice=True, known=known))
            elif x.dtype.is_floating_point and x.dtype.itemsize > 1 and alike.is_expanded(x):
                apart = [*items[:index], alike.apart(x, self.judge.next_seed()), *items[index + 1 :]]
                new = self._laid_out(apart, first)
                if self._moves(new):
                    what = f"a tensor whose slices differ for input {index}, where get_inputs expands one slice,"
                    found.append(RuleBreaker("ignored-argument", what, new, decides=True))
        return found

    def _moved_along(self, first: Bundle) -> list[RuleBreaker]:
        """Of two rows of integers that are compared one as the other, moved along by a third: draws of get_inputs have
        hardly anything in common, and what is near a diagonal is all that counts."""
        mapping, found = values.Mapping(first, writable=False), []
        items = [values.rebuild(node, mapping.bytes_of) for node in first.tree["items"]]
        rows = [i for i, x in enumerate(items) if isinstance(x, torch.Tensor) and indices.are_symbols(x)]
        for one, other in permutations(rows, 2):
            if items[one].shape[:-1] == items[other].shape[:-1] and items[one].dtype == items[other].dtype:
                length, columns = items[one].shape[-1], items[other].shape[-1]
                places = (torch.arange(columns, device=items[one].device) + length // 3) % length
                new = self._laid_out([*items[:other], items[one][..., places], *items[other + 1 :]], first)
                if self._moves(new):
                    what = f"input {one}, moved along its rows by a third, for input {other}"
                    found.append(RuleBreaker("other-values", what, new, decides=True))
        return found[:PAIRS]

    def _strided(self, first: Bundle) -> list[RuleBreaker]:
        """The same values in memory whose columns lie together, where all of get_inputs' tensors are contiguous."""
        mapping = values.Mapping(first, writable=False)
        items = [values.rebuild(node, mapping.bytes_of) for node in first.tree["items"]]
        plain = [x for x in items if isinstance(x, torch.Tensor)]
        if not all(x.is_contiguous() for x in plain):
            return []
        turned = [alike.turned(x) if isinstance(x, torch.Tensor) else x for x in items]
        if all(one is other for one, other in zip(items, turned, strict=True)):
            return []
        what = "matrices whose columns lie together in memory, the values as before,"
        taken = claims.takes_any_strides(read_source(self.settings.kernel)[1])
        new = self._laid_out(turned, first)
        return [RuleBreaker("ignored-argument", what, new, decides=taken, advice=not taken, known=True)]

    def _laid_out(self, items: list, first: Bundle) -> Bundle:
        """Inputs of another layout, on the device of the first ones."""
        new = values.save(items, self.judge.new_file("laid-out"))
        return replace(new, spans=tuple(replace(span, device=first.spans[0].device) for span in new.spans))
