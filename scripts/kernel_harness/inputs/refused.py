"""Inputs that a reference may refuse: their last element is none that it takes, so that a kernel that looks at block
after block has done all its work but the last when it sees it."""

from __future__ import annotations

import math

import torch

from .integers import WIDE


def last_negative(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The last of the integers becomes -1."""
    return _with_last(x, -1) if x.dtype in WIDE and x.numel() else None


def last_beyond(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The last of the integers becomes one above all others, but none for which a count would ask for all memory."""
    if x.dtype not in WIDE or not x.numel():
        return None
    return _with_last(x, min(4 * max(int(x.max()), 0) + 64, torch.iinfo(x.dtype).max))


def last_nan(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The last number becomes NaN."""
    return _with_last(x, math.nan) if x.is_floating_point() and x.dtype.itemsize > 1 and x.numel() else None


def _with_last(x: torch.Tensor, value: float) -> torch.Tensor:
    new = x.flatten().clone()  # flatten() may be the tensor itself
    new[-1] = value
    return new.view(x.shape)


CHANGES = (("index", last_negative), ("index", last_beyond), ("float", last_nan))  # with the kind of the inputs
