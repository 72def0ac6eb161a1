"""Keywords of get_inputs that no case sets: what they make is input, too (standard library only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NUMBERS = {int: (8, 1), float: (0.5,)}  # where the default is zero: eight elements to spare, a share of one half


def unset(defaults: Mapping, cases: Sequence[Mapping]) -> list[list[tuple[str, object]]]:
    """For each keyword whose default stands in all cases, [(keyword, value)] to try, of which the first that is taken
    counts: the other value of a flag, others than zero of a number. A size or a dtype that never changes may be the
    only one that a kernel is for."""
    found = []
    for name, default in defaults.items():
        if any(case.get(name, default) != default for case in cases):
            continue
        if type(default) is bool:
            found.append([(name, not default)])
        elif type(default) in NUMBERS and not default:
            found.append([(name, value) for value in NUMBERS[type(default)]])
    return found
