"""Which tensors hold symbols, as signs, masks or ternary weights, that a small case has too few of to show it?"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

import torch

from ..outputs import leaves
from .structured import FEW, has_symbols

OTHERS = 4  # cases that are asked


def symbols_elsewhere(made: list, draws: Iterable[Callable[[], list]]) -> frozenset[tuple[int, int]]:
    """(input, tensor within it) of the small or constant tensors that hold symbols in another case.

    draws: functions that make the inputs of other cases. The first case in which such a tensor is neither small nor
    constant tells; one that fails tells nothing.
    """
    open_ = {place for place, x in _tensors(made) if _says_little(x)}
    found = set()
    for draw, _ in zip(draws, range(OTHERS), strict=False):
        if not open_:
            break
        with contextlib.suppress(Exception):
            there = {place: x for place, x in _tensors(draw()) if place in open_ and not _says_little(x)}
            found |= {place for place, x in there.items() if _is_number(x) and has_symbols(x)}
            open_ -= there.keys()
    return frozenset(found)


def _says_little(x: torch.Tensor) -> bool:
    if not _is_number(x) or x.dim() == 0 or not x.numel():
        return False
    return x.numel() <= FEW or bool((x == x.reshape(-1)[0]).all())


def _is_number(x: torch.Tensor) -> bool:
    return x.dtype.is_floating_point and x.dtype.itemsize > 1


def _tensors(made: list) -> Iterator[tuple[tuple[int, int], torch.Tensor]]:
    for index, value in enumerate(made):
        yield from (((index, place), x.detach()) for place, x in enumerate(leaves(value, all_tensors=True)))

