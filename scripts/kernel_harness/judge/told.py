"""How findings and notes are told: of those that differ in their case and numbers alone, or in their target, the first,
and which others there are. The JSON document holds each finding."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CASE = re.compile(r"(?<=\[)case ((?:[^\[\]]|\[[^\]]*\])*)(?=\])")
_ARCH = re.compile(r"(?<=\()(sm_\d+\w?)(?=\))")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|\binf\b|\bnan\b")


def once(sentences: Iterable[str]) -> list[str]:
    """The sentences, but for those of another case or target that are like an earlier one, which names theirs."""
    groups: dict[str, list[str]] = {}
    for sentence in sentences:
        if _CASE.search(sentence):
            about = _NUMBER.sub("#", _CASE.sub("", sentence, count=1))
        else:
            about = _ARCH.sub("", sentence, count=1)
        groups.setdefault(about, []).append(sentence)
    return [_with_places(first, others) for first, *others in groups.values()]


def _with_places(first: str, others: list[str]) -> str:
    place = _CASE if _CASE.search(first) else _ARCH
    found = list(dict.fromkeys(place.search(other).group(1) for other in others if other != first))
    return place.sub(lambda match: f"{match.group()}, likewise {', '.join(found)}", first, count=1) if found else first
