"""Smaller keyword arguments of get_inputs, for cases that are too large to simulate (standard library only).

Integers, and integers in a tuple or list, are halved, the largest first; an odd number stays odd. What get_inputs
refuses, or what makes its inputs no smaller (a seed, a mode), keeps its value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

MANY = 8  # a sequence this long is a list of sizes, one for each of something: its length may be halved too


def shrink(keywords: dict, size_of: Callable[[dict], int], limit: int, kept: Collection[str] = ()) -> dict | None:
    """``keywords`` with integers halved until ``size_of`` (bytes; it raises for what cannot be made) is within
    ``limit``; None where that cannot be reached. kept: names whose values must stay as they are."""
    current, size, fixed = dict(keywords), size_of(keywords), set(kept)
    while size > limit:
        steps = [
            (weight, name, value) for name in current if name not in fixed for weight, value in _smaller(current[name])
        ]
        if not steps:
            return None
        name = max(steps, key=lambda step: step[0])[1]
        for _, value in sorted((s[::2] for s in steps if s[1] == name), key=lambda step: -step[0]):
            try:
                smaller = size_of({**current, name: value})
            except Exception:  # whatever get_inputs raises: these values do not fit together
                continue
            if smaller < size:
                current, size = {**current, name: value}, smaller
                break
        else:
            fixed.add(name)
    return current


def changes(before: dict, after: dict) -> str:
    """``m 4096 -> 128, shape (8, 70000) -> (8, 1093)``."""
    return ", ".join(f"{name} {before[name]} -> {value}" for name, value in after.items() if before[name] != value)


def _smaller(value):
    """[(weight, value)]: what to try in place of an argument; the weight is the largest number in it."""
    if type(value) is int and value > 1:
        yield value, _half(value)
    if isinstance(value, (tuple, list)) and value and all(type(n) is int for n in value):
        largest = max(value)
        if largest > 1:
            yield largest, type(value)(_half(n) if 2 * n > largest else n for n in value)
            for at, n in enumerate(value):  # where that is refused
                if n > 1:
                    yield n / 2, type(value)(_half(m) if i == at else m for i, m in enumerate(value))
        if len(value) >= MANY:
            yield largest - 1, value[: len(value) // 2]


def _half(value: int) -> int:
    return value // 2 | value & 1 if value > 1 else value
