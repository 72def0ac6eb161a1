"""Other arguments than those of get_inputs: numbers, flags, strings and dtypes, at the top or in lists and dicts."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ..values import Bundle, items_of

WORD = re.compile(r"[A-Za-z][\w+-]{0,23}")
KIN = (  # words that PyTorch and kernels take in place of each other
    "none mean sum",
    "none tanh relu gelu silu sigmoid",
    "constant reflect replicate circular",
    "zeros border reflection",
    "floor trunc",
    "nearest bilinear bicubic area",
    "left right",
    "max min sum mean prod",
    "row col",
    "N T",
)
DTYPES = ("float32", "bfloat16", "float16")
NEGLIGIBLE, NOTICED = 1e-3, 0.25  # an epsilon of which a tenth more shows nowhere, and one that shows
FACTOR = 1.09375  # no multiple of a tenth: half of a hundred places, and a tenth more, is a whole place again
NEAR = 1 + 2.0**-10  # the same in three digits
LARGE = 2.0  # above it 1 is another number, not a near one
MOST_FOURTHS = 8
TILED = 8  # a smaller count is of no tiles
WIDE = 2**33
MOST_WORDS = 4  # tried in place of one
MOST_ITEMS = 3  # of a list that are changed, one at a time


@dataclass(frozen=True)
class OtherArgument:
    """One argument changed. index: of the input that is it, or holds it. decides: a finite result must be right, where
    for sizes and counts it must only not stay the same."""

    index: int
    old: object
    new: object
    bundle: Bundle
    decides: bool

    @property
    def is_fourth(self) -> bool:
        """A count of which one more may change nothing: a window that is longer than the sequence, a late step."""
        return type(self.old) is int and type(self.new) is int and 0 != self.new <= self.old // 4

    @property
    def is_zero(self) -> bool:
        """The first place, class or step, no weight, no margin: what `if number:` takes for none given."""
        return type(self.new) in (int, float) and self.new == 0

    @property
    def is_named(self) -> bool:
        """Is it a name, of which only the reference knows whether it is one?"""
        return isinstance(self.old, str)


def words_in(tree: ast.Module) -> list[str]:
    """The strings of a file that look like names of a mode, in order; docstrings and sentences do not."""
    found = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return list(dict.fromkeys(word for word in found if WORD.fullmatch(word)))


def other_arguments(
    bundle: Bundle, words: Sequence[str] = (), seeds: Collection[int] = (), counters: Collection[int] = ()
) -> list[OtherArgument]:
    """Each argument that is no tensor, changed alone. words: what may stand in place of a string. seeds: positions of
    what is no size, and may have WIDE more; counters: of what is counted on from beside a seed, and may carry."""
    found = []
    for index, node in enumerate(bundle.tree["items"]):
        wide = _wide(node) if index in seeds and node["kind"] == "int" else ()
        if seeds and index in counters and node["kind"] == "int":
            wide = _carrying(node)
        for old, new, decides, changed in (*wide, *_changes(node, words)):
            items = [*bundle.tree["items"][:index], changed, *bundle.tree["items"][index + 1 :]]
            found.append(OtherArgument(index, old, new, replace(bundle, tree={**bundle.tree, "items": items}), decides))
    # Zeros come last: as a size one may take the process along.
    return sorted(found + _all_flags(bundle), key=lambda other: other.is_zero)


def _wide(node: dict) -> Iterator[tuple[object, object, bool, dict]]:
    """A seed as torch.initial_seed() has them, of more digits than 32 bits hold."""
    new = node["value"] % WIDE + WIDE
    yield node["value"], new, True, {**node, "value": new}


def _carrying(node: dict) -> Iterator[tuple[object, object, bool, dict]]:
    """A counter so near the end of 32 bits that few elements pass it, and at once the words of 64 carry."""
    for new in (2**32 - 5, 2**34 - 17):  # of generators that count elements, and draws of four
        yield node["value"], new, True, {**node, "value": new}


def _all_flags(bundle: Bundle) -> list[OtherArgument]:
    """All flags the other way: each alone may be right, and both together not."""
    nodes = bundle.tree["items"]
    flags = [index for index, node in enumerate(nodes) if node["kind"] == "bool"]
    if len(flags) < 2:
        return []
    old = [nodes[index]["value"] for index in flags]
    new = [not value for value in old]
    items = [{**node, "value": not node["value"]} if index in flags else node for index, node in enumerate(nodes)]
    return [OtherArgument(flags[0], old, new, replace(bundle, tree={**bundle.tree, "items": items}), True)]


def _changes(node: dict, words: Sequence[str]) -> Iterator[tuple[object, object, bool, dict]]:
    """(what was there, what is there now, does it decide, the node with that)."""
    kind, old = node["kind"], node.get("value")
    if kind == "bool":
        yield old, not old, True, {**node, "value": not old}
    elif kind == "int":
        yield old, old + 1, False, {**node, "value": old + 1}
        if old == -1:  # the last but one, whose hash in Python is that of the last
            yield old, -2, False, {**node, "value": -2}
        if old >= TILED:  # what falls into the middle of a tile says more than what passes its end by one
            new = 2 * old // 3 | 1
            yield old, new, False, {**node, "value": new}
        for power in range(1, MOST_FOURTHS + 1):
            if new := old // 4**power:
                yield old, new, False, {**node, "value": new}
        if old not in (0, -1):
            yield old, 0, False, {**node, "value": 0}
    elif kind == "float" and isinstance(old, float) and math.isfinite(old):
        new = FACTOR * old if old else 0.1
        yield old, new, True, {**node, "value": new}
        if old and not 1 / NEAR < old <= 1:
            yield old, NEAR * old, True, {**node, "value": NEAR * old}
        if 1 / FACTOR < old <= 1:  # a share is no larger than one
            yield old, old / FACTOR, True, {**node, "value": old / FACTOR}
        if abs(old) > LARGE:  # a cap that little reaches, a temperature: what it does shows where it is one
            yield old, math.copysign(1.0, old), True, {**node, "value": math.copysign(1.0, old)}
        if 0 < abs(old) < NEGLIGIBLE:
            yield old, NOTICED, True, {**node, "value": NOTICED}
        if old:
            yield old, 0.0, True, {**node, "value": 0.0}
    elif kind == "float" and isinstance(old, str) and math.isinf(float(old)):  # a limit that is none
        new = math.copysign(1.0, float(old))
        yield float(old), new, True, {**node, "value": new}
    elif kind == "str":
        kin = [word for line in KIN for word in line.split() if old.lower() in line.lower().split()]
        for new in list(dict.fromkeys(word for word in [*kin, *words] if word != old))[: MOST_WORDS * 4]:
            yield old, new, True, {**node, "value": new}
    elif kind == "dtype" and old in DTYPES:
        new = next(name for name in DTYPES if name != old)
        yield old, new, True, {**node, "value": new}
    elif kind in ("list", "tuple", "dict"):
        yield from _changes_within(node, words)


def _changes_within(node: dict, words: Sequence[str]) -> Iterator[tuple[object, object, bool, dict]]:
    children = list(items_of(node))
    numbers = [child.get("value") for _, child in children]
    if node["kind"] != "dict" and all(child["kind"] == "int" for _, child in children) and len(set(numbers)) > 1:
        turned = node["items"][1:] + node["items"][:1]  # sizes keep their sum so
        new = [item["value"] for item in turned]
        new, turned = (new, turned) if new != numbers else (new[::-1], turned[::-1])
        yield numbers, new, False, {**node, "items": turned}
        return
    for key, child in children[:MOST_ITEMS]:
        for old, new, decides, changed in _changes(child, words):
            if node["kind"] == "dict":
                yield old, new, decides, {**node, "items": {**node["items"], key: changed}}
            else:
                yield old, new, decides, {**node, "items": [*node["items"][:key], changed, *node["items"][key + 1 :]]}
