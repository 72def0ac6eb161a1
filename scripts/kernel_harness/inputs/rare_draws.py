"""Rare draws of get_inputs: many are made, and those are judged whose integers, masks or zeros are unlike the others'.

What a kernel gets wrong where three tokens share an id, or a segment ends where a block does, it gets wrong on one draw
in a hundred. Such a draw is as much within the promise of the file as any other: nothing about it is changed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import torch

DRAWS, SECONDS = 1000, 1.5
SECONDS_OF_NUMBERS = 0.4  # where all tensors are floating: only zeros, NaN and infinities can be rare there
FEWEST = 16  # draws that tell what is rare
COMMON = 0.3  # share of the draws; what as many show, the other seeds show, too
MOST = 8
BLOCK = 32  # elements; the smallest that a kernel takes at a time
TENSORS = 4


def rarest(draw: Callable[[int], list[torch.Tensor]], seed: int) -> list[tuple[int, str]]:
    """[(seed, what is rare about its draw)]: at most MOST, integers and masks first. draw(seed) gives one's tensors."""
    started, seconds, seen = time.monotonic(), SECONDS_OF_NUMBERS, {}
    for number in range(seed, seed + DRAWS):
        if time.monotonic() > started + seconds:
            break
        tensors = [(i, t) for i, t in enumerate(draw(number)) if t.numel() > 1]
        tensors.sort(key=lambda pair: not _is_discrete(pair[1].dtype))
        for index, tensor in tensors[:TENSORS]:
            if _is_discrete(tensor.dtype):
                seconds, kind, measures = SECONDS, "integers or masks", _measures
            else:
                kind, measures = "numbers", _measures_of_numbers
            for what, measure in measures(tensor):
                seen.setdefault(f"{what} of the {kind} in tensor {index}", []).append((measure, number))
    found: dict[int, tuple[float, str]] = {}
    for what, measured in seen.items():
        if len(measured) < FEWEST:
            continue
        most, number = max(measured)
        share = sum(measure == most for measure, _ in measured) / len(measured)
        if share <= COMMON and share < found.get(number, (1.0, ""))[0]:
            found[number] = share, what
    ranked = sorted(found.items(), key=lambda item: ("numbers" in item[1][1], item[1][0]))
    return [(number, what) for number, (_, what) in ranked[:MOST]]


def _is_discrete(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex)


def _measures(x: torch.Tensor) -> Iterator[tuple[str, float]]:
    """(what there is much of, how much): of few things, as each costs a call of the kernel."""
    x = x.cpu()
    if x.dtype is torch.bool:
        rows = x.sum(-1) if x.dim() else x.sum()
        yield "the fullest row", int(rows.max())
        yield "the emptiest row", -int(rows.min())
        places = x.nonzero()[:, -1] if x.dim() else torch.zeros(0)
        yield "edges of blocks among the places", _edges(places)
        return
    x = x.to(torch.int64)  # unsigned words have no arithmetic of their own
    counts = x.flatten().unique(return_counts=True)[1]
    yield "the most frequent", int(counts.max())
    if x.dim() and x.shape[-1] > 1:
        yield "equal neighbours", int((x.diff(dim=-1) == 0).sum())
    yield "edges of blocks", _edges(x)
    yield "the largest", int(x.max())
    yield "the smallest", -int(x.min())


def _measures_of_numbers(x: torch.Tensor) -> Iterator[tuple[str, float]]:
    if x.dtype.itemsize > 1:  # formats of eight bits are not compared
        yield "the most zeros", int((x == 0).sum())
        yield "the most NaN and infinities", int((~torch.isfinite(x)).sum())


def _edges(places: torch.Tensor) -> float:
    """How many lie where a block begins, those of larger blocks first."""
    wide = places.flatten()
    wide = wide[(wide > 0) & (wide % BLOCK == 0)]
    powers = (wide & -wide).to(torch.float64)
    return math.fsum(powers.square().tolist())
