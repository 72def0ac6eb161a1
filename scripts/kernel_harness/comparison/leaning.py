"""Numbers of eight bits that are off to one side, as by a scale that is a few per cent wrong or by rounding to zero.

Two steps of such a format are a quarter of a number: no bound on single elements sees that. Right kernels differ in few
elements, those near a tie, and to either side.
"""

from __future__ import annotations

import math

import torch

from .diagnosis import flattened

BLOCK = 128  # elements: a cache of which little was written is right everywhere else
FEWEST = 32  # elements that differ; so many on one side are no chance
ONE_SIDED = 0.75  # of those that differ, more on one side than on the other
BIAS = 2.0**-7  # relative: a scale that was rounded to bfloat16 is off by half of that
MEAN_STEP = math.log(2)  # of a number's step to it, times eps, over all mantissas
LOOKED_AT = 1 << 22  # elements


def find(outcome, result: torch.Tensor, native: torch.Tensor, golden: torch.Tensor | None):
    """Chunks of wrong elements, as compare() has them, and the finding in ``outcome``; None without any."""
    if not str(result.dtype).startswith("torch.float8_e"):
        return None
    anchors = native, native if golden is None else golden
    off = leaning(*(flattened(t)[:LOOKED_AT].cpu() for t in (result, *anchors)))
    if off is None:
        return None
    outcome.wrong, outcome.budget_used = int(off.sum()), math.inf
    outcome.causes.append(
        "the elements that differ from the rounded reference are nearly all on one side of it: a scale that is off by "
        "a few per cent, or rounding towards zero"
    )
    return lambda: [(0, off)]


def leaning(y: torch.Tensor, native: torch.Tensor, golden: torch.Tensor) -> torch.Tensor | None:
    """Where ``y`` is not the golden value rounded, if that is nearly always to one side and in more elements than a
    factor of 1 + BIAS moves, and the reference in the kernel's own precision is not like that; else None."""
    rounded = golden.to(y.dtype).to(torch.float64)
    side, own = (_sides(t.to(torch.float64), rounded) for t in (y, native))
    off = side != 0
    blocks = torch.nn.functional.pad(off, (0, -off.numel() % BLOCK)).view(-1, BLOCK)
    share = BIAS / (MEAN_STEP * torch.finfo(y.dtype).eps) * BLOCK * int(blocks.any(1).sum())
    lean, count = abs(int(side.sum())), int(off.sum())
    is_off = count >= FEWEST and lean > max(share, ONE_SIDED * count, 2 * abs(int(own.sum())))
    return off if is_off else None


def _sides(x: torch.Tensor, rounded: torch.Tensor) -> torch.Tensor:
    """1 where ``x`` is larger in magnitude, -1 where smaller, 0 where equal or where either is no number."""
    return (x.abs() - rounded.abs()).nan_to_num(0, 0, 0).sign().to(torch.int64)
