"""The numbers of a file's cases: where they are, which are always equal or in order, and cases with others (standard
library only)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations

MANY = 8  # numbers; a longer sequence is a list of sizes, of which the largest is looked at
LARGEST = -1
Place = tuple[str, int | None]  # of a number: a keyword, and where in its sequence if it is one, or LARGEST


def volume(case: Mapping) -> int:
    """The product of its sizes, of a list of many their sum: what most get_inputs make has no more elements."""
    factors = []
    for value in case.values():
        sizes = [n for n in (value if isinstance(value, (tuple, list)) else (value,)) if type(n) is int and n > 0]
        factors.append(sum(sizes) if len(sizes) > MANY else math.prod(sizes))
    return math.prod(factors)


def tied_places(cases: Sequence[Mapping]) -> dict[tuple[int, ...], list[Place]]:
    """The places that all cases have, by the sizes there: those that are always equal stay so."""
    numbers = [numbers_of(case) for case in cases]
    shared = [place for place in numbers[0] if all(place in case for case in numbers)] if numbers else []
    tied: dict[tuple[int, ...], list[Place]] = {}
    for place in shared:
        tied.setdefault(tuple(case[place] for case in numbers), []).append(place)
    return tied


def orders_among(cases: Sequence[Mapping], timed: Sequence[Mapping] = ()) -> list[tuple[Place, Place]]:
    """The pairs of numbers that all cases have and of which the first is above the second in none, nor in ``timed``."""
    sizes, further = ([compared_of(case) for case in group] for group in (cases, timed))
    shared = [place for place in sizes[0] if all(place in case for case in sizes)] if sizes else []
    return [
        (low, high)
        for low, high in permutations(shared, 2)
        if all(case[low] <= case[high] for case in sizes)
        and all(case[low] <= case[high] for case in further if low in case and high in case)
    ]


def keeps(orders: Sequence[tuple[Place, Place]], case: Mapping) -> bool:
    sizes = compared_of(case)
    return all(sizes[low] <= sizes[high] for low, high in orders)


def compared_of(case: Mapping) -> dict[Place, int]:
    """The numbers of a case that may be ordered among one another: also the largest of each sequence."""
    sequences = {name: value for name, value in case.items() if isinstance(value, (tuple, list)) and value}
    found = {p: n for p, n in numbers_of(case).items() if p[1] is None or len(case[p[0]]) <= MANY}
    return found | {(name, LARGEST): max(v) for name, v in sequences.items() if all(type(n) is int for n in v)}


def numbers_of(case: Mapping) -> dict[Place, int]:
    found: dict[Place, int] = {}
    for name, value in case.items():
        if type(value) is int:
            found[name, None] = value
        elif isinstance(value, (tuple, list)) and all(type(n) is int for n in value):
            found |= {(name, at): n for at, n in enumerate(value)}
    return found


def with_size(case: Mapping, places: Sequence[Place], size: int) -> dict:
    new = dict(case)
    for name, at in places:
        if at == LARGEST and new[name]:
            at = new[name].index(max(new[name]))
        new[name] = size if at is None else type(new[name])(size if i == at else n for i, n in enumerate(new[name]))
    return new


def named(places: Sequence[Place], size: int) -> str:
    return ", ".join(f"{told([place])}={size}" for place in places)


def told(places: Sequence[Place]) -> str:
    tell = {None: "{}", LARGEST: "max({})"}
    return ", ".join(tell.get(at, f"{{}}[{at}]").format(name) for name, at in places)
