"""Keywords of get_inputs that no case sets, alone or together: what they make is input, too (standard library only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

NUMBERS = {int: (8, 1), float: (0.5,)}  # where the default is zero: eight elements to spare, a share of one half
ONES = (2, 3)  # where it is one: a batch, a dilation, groups


def unset(defaults: Mapping, cases: Sequence[Mapping]) -> list[list[dict[str, object]]]:
    """For each keyword whose default stands in all cases, and each pair of flags that cases set one at a time, [the
    keywords to try], of which the first that are taken count: the other value of a flag, others than zero of a number,
    others than one of an integer. Another size or dtype that never changes may be the only one that a kernel is for."""
    found = []
    for name, default in defaults.items():
        if any(case.get(name, default) != default for case in cases):
            continue
        if type(default) is bool:
            found.append([{name: not default}])
        elif type(default) in NUMBERS and not default:
            found.append([{name: value} for value in NUMBERS[type(default)]])
        elif type(default) is int and default == 1:
            found.append([{name: value} for value in ONES])
    flags = [name for name, default in defaults.items() if type(default) is bool]
    turned = [{name for name in flags if case.get(name, defaults[name]) != defaults[name]} for case in cases]
    singly = [name for name in flags if any(name in names for names in turned)]
    pairs = [set(pair) for pair in combinations(singly, 2) if not any(names >= set(pair) for names in turned)]
    return found + [[{name: not defaults[name] for name in flags if name in pair}] for pair in pairs]
