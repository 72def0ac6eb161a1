"""Sizes between those of a file's cases, which no case has: arguments of get_inputs (standard library only).

A file that shows several sizes of an argument says that it takes sizes, and not those alone. What all its sizes have in
common (a divisor; being powers of two; two arguments that are always equal, or one never above the other, as lengths
and the capacity that holds them) the new ones have, too.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, permutations

import torch

from .case_numbers import (
    LARGEST,
    Place,
    compared_of,
    keeps,
    named,
    numbers_of,
    orders_among,
    tied_places,
    told,
    volume,
    with_size,
)
from .paths import beyond

BLOCK = 128  # elements; larger ones a kernel seldom takes at a time
SMALL = 5  # elements; from there on a size is like its neighbours
FILTER = 8  # elements of a kernel or window, at most, that data may be shorter than
WARP = 32  # lanes
WIDE = 8  # between neighbouring sizes of the cases
CROSSED = 2  # sizes of other cases
LONGER = 4  # times the largest of the cases
THIRDS = (768, 384, 1536, 192, 3072)  # elements, as models have: their warps are no power of two
# Binary digits: 17 is beyond an index of 16 bits, and the CTAs that a GPU holds; at 20 the product of two halves, or of
# counts of samples, is beyond 32.
FAR = (11, 14, 17, 20)
SMALLEST = 2  # cases
RESTS = 3  # ways of saying what is no size
PATHS = 3  # sizes of each argument that take paths of their own
DRAWS, TRIES = 96, 4  # of all sizes together; until they keep the order of the cases'


def between(
    cases: Sequence[Mapping], constants: Collection[int] = (), timed: Sequence[Mapping] = ()
) -> list[tuple[str, dict, Mapping]]:
    """[(what is changed, as ``n=63``, the keywords of a further case, the case of ``cases`` it was made from)], all
    with one size changed; none where the cases show no sizes between which others lie. First one below the largest of
    each, then those that the file's ``constants`` separate from the cases' (paths.py), sizes of one case beside those
    of the first, one in the middle of the widest gap, then those that make two sizes equal that no case has equal, then
    one that whole blocks fill where no size of the cases' is such, one that is one more, and the one after the
    smallest, last equal ones beside what else the cases say. Where sizes have nothing in common a single one (a token,
    a row) lies between them, too, also below what is small itself, as the width of a kernel. timed: cases of which
    nothing is made, but that may show that no order holds between two sizes."""
    tied, orders, further = tied_places(cases), orders_among(cases, timed), []
    found = [*_resized(cases, tied, _new_size), *_beyond(cases, tied, constants)]
    found += [*_crossed(cases, tied), *_resized(cases, tied, _middle_size)]
    for (others, _), (sizes, places) in permutations(tied.items(), 2):
        if not any(map(operator.eq, others, sizes)):
            rows = [(size, case) for size, case in zip(others, cases, strict=True) if _lies_between(size, set(sizes))]
            made = [(named(places, size), _ordered(with_size(case, places, size), tied, orders), case)
                    for size, case in rows]
            first, *rest = _one_of_each([row for row in made if keeps(orders, row[1])]) or [None]
            found += [first] if first else []
            further += rest
    chosen = (_hidden_size, _whole_size, _size_beyond, _small_size)
    found += [row for choose in chosen for row in _resized(cases, tied, choose)]
    found += [*_far(cases, tied), *further]
    kept = [row for row in found if keeps(orders, row[1])]
    ones = [row for row in _resized(cases, tied, _one) if keeps(_telling(orders, cases), row[1])]
    return [*kept[:1], *ones, *kept[1:]]


def uneven(cases: Sequence[Mapping], timed: Sequence[Mapping] = ()) -> list[tuple[str, dict, Mapping]]:
    """The same of sizes without the divisor that those of all cases have, or that are no powers of two as these are:
    one less than the largest, and all such sizes together, as a product of them may have the divisor still. A kernel
    may rely on it; its author should know that it does, and who says that any size will do must not."""
    tied, orders = tied_places(cases), orders_among(cases, timed)
    rows = [*_uneven(cases, tied), *_resized(cases, tied, _indivisible_size)]
    return [row for row in rows if keeps(orders, row[1])]


def unlike(cases: Sequence[Mapping], timed: Sequence[Mapping] = ()) -> list[tuple[str, dict, Mapping]]:
    """The same of sizes that lack an order of the cases': two that are equal in some case the other way round, where
    one is never above the other; and sizes of one case beside those of the first. A kernel may rely on that, too."""
    tied, orders = tied_places(cases), orders_among(cases, timed)
    return _swapped(cases, orders)[:1] + [row for row in _crossed(cases, tied) if not keeps(orders, row[1])]


def nothing(cases: Sequence[Mapping], timed: Sequence[Mapping] = ()) -> list[tuple[str, dict, Mapping]]:
    """The same of none of a size, where no case has that, beside the sizes of the first case."""
    tied, orders = tied_places(cases), orders_among(cases, timed)
    chosen = [places for sizes, places in tied.items() if min(sizes) > 0]
    rows = [(named(places, 0), with_size(cases[0], places, 0), cases[0]) for places in chosen]
    return [row for row in rows if keeps(orders, row[1])]


def doubled(cases: Sequence[Mapping], timed: Sequence[Mapping] = ()) -> list[tuple[str, dict, Mapping]]:
    """The same of twice the largest of each size: whoever shows several is taken at their word that it is a size."""
    tied, orders = tied_places(cases), orders_among(cases, timed)
    found = [row for row in _resized(cases, tied, _twice_the_largest) if keeps(orders, row[1])]
    return [*_longer_lists(cases, orders), *found]


def long(cases: Sequence[Mapping], timed: Sequence[Mapping]) -> list[tuple[str, dict, Mapping]]:
    """The same of sizes of ``timed`` cases that are far above those of all cases, alone beside small others, and their
    halves, the largest first: a loop that is long there is long in no case."""
    tied, orders, found = tied_places(cases), orders_among(cases, timed), []
    small = sorted((case for case in cases if 0 not in numbers_of(case).values()), key=volume)[:SMALLEST]
    for sizes, places in tied.items():
        most, step = LONGER * max(sizes), math.gcd(*sizes)
        size = max((numbers_of(case).get(places[0], 0) for case in timed), default=0)
        while size > most > 0:
            whole = size // step * step
            what = f"{told(places)} of BENCH_CASES, halved"
            found += [(what, with_size(case, places, whole), case) for case in small]
            size //= 2
    return [row for row in found if keeps(orders, row[1])]


def far(cases: Sequence[Mapping], timed: Sequence[Mapping] = ()) -> list[list[tuple[str, dict, bool]]]:
    """For each size, lists of the same of FAR ones, alone beside small others, and whether it is far above those of all
    cases: who asks what one costs asks for the one before first. Odd where one of the cases' is."""
    tied, orders, found = tied_places(cases), orders_among(cases, timed), []
    for small in _of_two_dtypes(sorted((c for c in cases if 0 not in numbers_of(c).values()), key=volume)):
        for sizes, places in tied.items():
            if min(sizes) < 0 or len(set(sizes)) < 2:
                continue
            step, are_powers = math.gcd(*sizes), all(size & (size - 1) == 0 for size in sizes)
            chosen = [1 << bits if are_powers else ((1 << bits) // step + 1) * step for bits in FAR]
            made = ((named(places, size), with_size(small, places, size), size) for size in chosen)
            rows = [(name, case, size > LONGER * max(sizes)) for name, case, size in made]
            found.append([row for row in rows if keeps(orders, row[1])])
    return [rows for rows in found if any(is_far for _, _, is_far in rows)]


def _of_two_dtypes(cases: Sequence[Mapping]) -> list[Mapping]:
    """The first case, and the first whose dtypes are others: what is carried in few bits shows in few bits."""
    first: dict[str, Mapping] = {}
    for case in cases:
        first.setdefault(repr({name: v for name, v in case.items() if isinstance(v, torch.dtype)}), case)
    return list(first.values())[:2]


def drawn(cases: Sequence[Mapping], timed: Sequence[Mapping] = ()) -> list[tuple[str, dict, Mapping]]:
    """The same of all sizes together drawn at random: what is rounded, divided or compared may be wrong for few of
    them, or of their pairs. The same cases give the same draws."""
    tied, orders, found = tied_places(cases), orders_among(cases, timed), {}
    ranges = {sizes: places for sizes, places in tied.items() if min(sizes) > 0 and len(set(sizes)) > 1}
    draw = random.Random(repr([sorted(numbers_of(case).items()) for case in cases]))
    for _ in range(DRAWS * TRIES if ranges else 0):
        new = case = draw.choice(cases)
        for sizes, places in ranges.items():
            new = with_size(new, places, _drawn_size(set(sizes), draw))
        if len(found) < DRAWS and keeps(orders, new) and new not in [dict(known) for known in cases]:
            what = ", ".join(named(places, numbers_of(new)[places[0]]) for places in ranges.values())
            found[what] = (what, new, case)
    return list(found.values())


def _resized(cases: Sequence[Mapping], tied: dict[tuple[int, ...], list[Place]], choose) -> list[tuple]:
    chosen = [(choose(set(sizes)), places) for sizes, places in tied.items()]
    made = ((size, places, case) for size, places in chosen if size is not None for case in cases)
    return [(named(places, size), with_size(case, places, size), case) for size, places, case in made]


def _beyond(cases: Sequence[Mapping], tied: dict[tuple[int, ...], list[Place]], constants: Collection[int]) -> list:
    chosen = [(size, places) for sizes, places in tied.items() for size in beyond(sizes, constants)[:PATHS]]
    return [(named(places, size), with_size(case, places, size), case) for size, places in chosen for case in cases]


def _crossed(cases: Sequence[Mapping], tied: dict[tuple[int, ...], list[Place]]) -> list[tuple]:
    """Sizes that come only together with another, of which the first case has neither, alone: a cache beside one token
    says nothing of a cache beside many. Those that the first case has not at all, or the other one, before others."""
    found = []
    for at in range(1, len(cases)):
        other = [(sizes, places) for sizes, places in tied.items() if sizes[at] != sizes[0]]
        for sizes, places in other if len(other) > 1 else ():
            new = with_size(cases[0], places, sizes[at])
            if new not in [dict(known) for known in cases]:
                found.append((min(abs(sizes[at]), abs(sizes[0])) > 0, (named(places, sizes[at]), new, cases[0])))
    return [row for _, row in sorted(found, key=operator.itemgetter(0))][:CROSSED]


def _uneven(cases: Sequence[Mapping], tied: dict[tuple[int, ...], list[Place]]) -> list[tuple]:
    """The smallest of the cases with one more, or less of the largest, of all sizes that have a divisor or are powers
    of two."""
    case = new = min(cases, key=volume, default={})
    uneven = [(sizes, places) for sizes, places in tied.items() if _indivisible_size(set(sizes)) is not None]
    for sizes, places in uneven:
        size = numbers_of(case)[places[0]]
        new = with_size(new, places, size - 1 if size == max(sizes) else size + 1)
    what = ", ".join(named(places, numbers_of(new)[places[0]]) for _, places in uneven)
    return [(what, new, case)] if len(uneven) > 1 else []


def _swapped(cases: Sequence[Mapping], orders: Sequence[tuple[Place, Place]]) -> list[tuple]:
    """Two sizes that are equal in some case, as queries and keys are, in a case where one is smaller."""
    found, numbers = [], [compared_of(case) for case in cases]
    for low, high in orders:
        pairs = [(case.get(low), case.get(high)) for case in numbers]
        at = next((i for i, (a, b) in enumerate(pairs) if a is not None and b is not None and 0 < a < b), None)
        if at is not None and any(a == b and a >= SMALL for a, b in pairs if a is not None):
            smaller, larger = pairs[at]
            new = with_size(with_size(cases[at], [low], larger), [high], smaller)
            found.append((f"{named([low], larger)}, {named([high], smaller)}", new, cases[at]))
    return found


def _ordered(case: dict, tied: Mapping[tuple[int, ...], list[Place]], orders: Sequence[tuple[Place, Place]]) -> dict:
    """The case with what is above another against an order at the largest of its sizes that is not: of few cases, some
    orders are chance."""
    for sizes, places in tied.items():
        numbers = compared_of(case)
        most = min((numbers[high] for low, high in orders if low in places), default=max(sizes))
        if numbers.get(places[0], 0) > most and (smaller := [size for size in sizes if size <= most]):
            case = with_size(case, places, max(smaller))
    return case


def _longer_lists(cases: Sequence[Mapping], orders: Sequence[tuple[Place, Place]]) -> list[tuple]:
    """Lists of sizes, as lengths of sequences, whose largest is twice that of all cases and more than a warp has lanes,
    and with it whatever is never below them, as their capacity."""
    found = []
    for name in cases[0] if cases else ():
        lists = [case.get(name) for case in cases]
        is_list = all(isinstance(v, (tuple, list)) and all(type(n) is int and n >= 0 for n in v) for v in lists)
        most = max((max(sizes) for sizes in lists if sizes), default=0) if is_list else 0
        if not most or len({len(sizes) for sizes in lists}) == 1:
            continue
        size = max(2 * most, WARP) + 1
        above = [place for low, place in orders if low == (name, LARGEST) and place[1] is None]
        for case in cases:
            if case[name]:
                new = with_size(case, [(name, LARGEST)], size)
                found.append((f"{name} up to {size}", {**new, **{n: max(new[n], size) for n, _ in above}}, case))
    return _one_of_each([row for row in found if keeps(orders, row[1])])


def _one_of_each(rows: Sequence[tuple[str, dict, Mapping]]) -> list[tuple[str, dict, Mapping]]:
    """The first of the rows for each way of saying what is no size (a kind, a flag), RESTS at most: what is equal may
    matter to one of them alone."""
    rests: dict[str, tuple] = {}
    for what, new, case in rows:
        rest = {name: value for name, value in new.items() if not numbers_of({name: value})}
        said = ", ".join(f"{name}={value!r}" for name, value in rest.items())
        rests.setdefault(said, (f"{what}, {said}" if rests else what, new, case))
    return list(rests.values())[:RESTS]


def _far(cases: Sequence[Mapping], tied: dict[tuple[int, ...], list[Place]]) -> list[tuple]:
    """Offsets, which are negative in some case, half of the case's largest size away, in both directions."""
    found = []
    for offsets, places in tied.items():
        if min(offsets) >= 0:
            continue
        largest = [max((n for p, n in numbers_of(case).items() if p not in places), default=0) for case in cases]
        half, case = max(largest) // 2, cases[largest.index(max(largest))]
        if half > max(map(abs, offsets)):
            found += [(named(places, far), with_size(case, places, far), case) for far in (-half, half)]
    return found


def _lies_between(size: int, sizes: set[int]) -> bool:
    """Is it no size of the cases', but one that has in common what they have?"""
    if not 0 < min(sizes) < size < max(sizes) or size % math.gcd(*sizes):
        return False
    return size & (size - 1) == 0 or not all(n & (n - 1) == 0 for n in sizes)


def _new_size(sizes: set[int]) -> int | None:
    """The largest below the largest one that has the divisor of all; of powers of two another."""
    if min(sizes) < 0 or len(sizes - {0}) < 2:
        return None
    if all(size & (size - 1) == 0 for size in sizes):
        powers = (1 << bits for bits in range(max(sizes).bit_length() - 2, -1, -1))
        return next((n for n in powers if n not in sizes and n > min(sizes - {0})), None)
    step = math.gcd(*sizes)
    return next((n for n in range(max(sizes) - step, min(sizes - {0}), -step) if n not in sizes), None)


def _indivisible_size(sizes: set[int]) -> int | None:
    """One less than the largest, where all have a divisor or are powers of two."""
    if min(sizes) <= 0 or len(sizes) < 2:
        return None
    is_alike = math.gcd(*sizes) > 1 or all(size & (size - 1) == 0 for size in sizes)
    return max(sizes) - 1 if is_alike and max(sizes) - 1 not in sizes else None


def _twice_the_largest(sizes: set[int]) -> int | None:
    """Odd where one of them is: more of what all of them may fill, a tile or a CTA."""
    if min(sizes) <= 0 or len(sizes) < 2:
        return None
    return 2 * max(sizes) + any(size % 2 for size in sizes)


def _middle_size(sizes: set[int]) -> int | None:
    """The geometric middle of the widest gap, where it is WIDE: what the cases leave out may have a path of its own."""
    known = sorted(sizes)
    gaps = [(high / low, low, high) for low, high in pairwise(known) if low > 0]
    if not gaps or known[0] < 0 or max(gaps)[0] < WIDE:
        return None
    _, low, high = max(gaps)
    if all(size & (size - 1) == 0 for size in sizes):
        middle = 1 << (low.bit_length() + high.bit_length() - 2) // 2
    else:
        step = math.gcd(*sizes)
        middle = round(math.sqrt(low * high) / step) * step
    return middle if low < middle < high and middle != _new_size(sizes) else None


def _whole_size(sizes: set[int]) -> int | None:
    """The largest power of two between them, or multiple of it that has their divisor: there no rest is left."""
    if min(sizes) < 0 or max(sizes) < BLOCK or any(size and size % BLOCK == 0 for size in sizes):
        return None
    step = math.gcd(*sizes)
    wholes = (math.lcm(step, 1 << bits) for bits in range(max(sizes).bit_length()))
    return max((n for n in wholes if _lies_between(n, sizes) and n % 2 == 0), default=None)


def _hidden_size(sizes: set[int]) -> int | None:
    """One of THIRDS where no size of the cases' is three times a power of two, at least 96: it fills as many warps."""
    if any(size >= 96 and size % 3 == 0 and (size // 3) & (size // 3 - 1) == 0 for size in sizes):
        return None
    return next((n for n in THIRDS if _lies_between(n, sizes)), None)


def _size_beyond(sizes: set[int]) -> int | None:
    """The largest power of two between them and one more: the last block holds a single element."""
    if min(sizes) < 0 or any(size > BLOCK and size % BLOCK == 1 for size in sizes):
        return None
    beyond = ((1 << bits) + 1 for bits in range(BLOCK.bit_length() - 1, max(sizes).bit_length()))
    return max((n for n in beyond if _lies_between(n, sizes)), default=None)


def _small_size(sizes: set[int]) -> int | None:
    """The smallest but one: where a window, or what a call hands to the next, is longer than the data."""
    known = sorted(size for size in sizes if size > 0)
    small = min(known, default=0) + math.gcd(*sizes)
    return small if small < SMALL and small not in sizes and known and _lies_between(small, set(known)) else None


def _one(sizes: set[int]) -> int | None:
    return 1 if len(sizes) > 1 and min(sizes) > 1 and math.gcd(*sizes) == 1 else None


def _drawn_size(sizes: set[int], draw: random.Random) -> int:
    """One of them, or between them, as often small as large."""
    step = math.gcd(*sizes)
    size = round(math.exp(draw.uniform(math.log(min(sizes)), math.log(max(sizes)))) / step) * step
    size = 1 << size.bit_length() - 1 if all(n & (n - 1) == 0 for n in sizes) else size
    return size if size in sizes or _lies_between(size, sizes) else draw.choice(sorted(sizes))


def _telling(orders: Sequence[tuple[Place, Place]], cases: Sequence[Mapping]) -> list[tuple[Place, Place]]:
    """Those of the pairs whose first is large somewhere, as lengths are that a capacity must hold."""
    return [(low, high) for low, high in orders if max(compared_of(case)[low] for case in cases) > FILTER]


