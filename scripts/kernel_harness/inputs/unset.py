"""Keywords of get_inputs that no case sets, alone or together: what they make is input, too (standard library only)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

NUMBERS = {int: (8, 1), float: (0.5,)}  # where the default is zero: eight elements to spare, a share of one half
ONES = (2, 3)  # where it is one: a batch, a dilation, groups
MOST_REVERTED = 3
TIMES = 2  # as large
OPTIONS = ("bool", "float", "str", "NoneType", "dtype")  # types of defaults that are no sizes


def unset(defaults: Mapping, cases: Sequence[Mapping], claimed: Sequence = ()) -> list[list[dict[str, object]]]:
    """For each keyword whose default stands in all cases, each case that sets several options (with one of them as by
    default), each pair of options that cases set one at a time, each flag with a sequence that no case has beside it,
    and each dtype with far larger numbers than cases have beside it, [the keywords to try], of which the first that are
    taken count: the other value of a flag, others than zero of a number, others than one of an integer. Another size
    or dtype that never changes may be the only one that a kernel is for. claimed: dtypes that the file says it takes,
    each of which is tried where no case has it."""
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
    further = (_reverted, _pairs, _beside, _formats)
    kinds = [name for name, default in defaults.items() if type(default).__name__ == "dtype"]
    for name in kinds if len(kinds) == 1 else ():
        seen = [defaults[name], *(case.get(name) for case in cases)]
        found += [[{name: dtype}] for dtype in claimed if dtype not in seen]
    return found + [row for kind in further for row in kind(defaults, cases)]


def _reverted(defaults: Mapping, cases: Sequence[Mapping]) -> list[list[dict[str, object]]]:
    """Cases that set several options, with one of them as it is by default: the others are never seen beside that."""
    options = [name for name, default in defaults.items() if type(default).__name__ in OPTIONS[:-1]]
    said = [{name: case.get(name, defaults[name]) for name in options} for case in cases]
    found, known = [], list(said)
    for case, chosen in zip(cases, said, strict=True):
        unusual = [name for name in options if chosen[name] != defaults[name]]
        for name in unusual if len(unusual) > 1 else ():
            if (new := {**chosen, name: defaults[name]}) not in known:
                known.append(new)
                found.append([{**case, name: defaults[name]}])
    return found[:MOST_REVERTED]


def _beside(defaults: Mapping, cases: Sequence[Mapping]) -> list[list[dict[str, object]]]:
    """Each flag as some case sets it, in the cases with a sequence (a block, strides) that none has beside it: those of
    unequal numbers first."""
    flags = [name for name, default in defaults.items() if type(default) is bool]
    lists = [name for name, default in defaults.items() if isinstance(default, (tuple, list)) and len(default) > 1]
    found = []
    for flag in flags:
        seen = [case for case in cases if case.get(flag, defaults[flag]) != defaults[flag]]
        for name in lists if seen else ():
            known = [case.get(name, defaults[name]) for case in seen]
            new = [case for case in cases if case.get(name, defaults[name]) not in known]
            new.sort(key=lambda case: len(set(case.get(name, defaults[name]))) == 1)
            found += [[{**case, flag: not defaults[flag]} for case in new]] if new else []
    return found


def _formats(defaults: Mapping, cases: Sequence[Mapping]) -> list[list[dict[str, object]]]:
    """Each dtype that some case sets, in the cases without it that set a far larger number than any with it, the
    largest first: positions and lengths beyond what a format counts."""
    kinds = [name for name, default in defaults.items() if type(default).__name__ == "dtype"]
    found = []
    for name in kinds:
        for kind in dict.fromkeys(case[name] for case in cases if case.get(name, defaults[name]) != defaults[name]):
            most = TIMES * max(_largest({**defaults, **case}) for case in cases if case.get(name) == kind)
            plain = [case for case in cases if case.get(name, defaults[name]) == defaults[name]]
            new = sorted((case for case in plain if _largest(case) > most), key=_largest, reverse=True)
            found += [[{**case, name: kind} for case in new[:MOST_REVERTED]]] if new else []
    return found


def _largest(case: Mapping) -> int:
    return max((value for value in case.values() if type(value) is int), default=0)


def _pairs(defaults: Mapping, cases: Sequence[Mapping]) -> list[list[dict[str, object]]]:
    """Options that no case sets together, as the first cases that set them do; those with a dtype come last."""
    options = [name for name, default in defaults.items() if type(default).__name__ in OPTIONS]
    options.sort(key=lambda name: type(defaults[name]).__name__ == "dtype")
    said = [{n: case[n] for n in options if case.get(n, defaults[n]) != defaults[n]} for case in cases]
    first = {name: next((case[name] for case in said if name in case), None) for name in options}
    pairs = combinations([name for name in options if first[name] is not None], 2)
    return [[{n: first[n] for n in pair}] for pair in pairs if not any(set(pair) <= case.keys() for case in said)]
