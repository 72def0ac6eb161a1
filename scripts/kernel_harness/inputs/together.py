"""A change that all inputs share: moved by one vector, points keep their distances."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .hostile import around
from .variations import cast


def moved(times: float) -> Callable:
    """Adds one number to all data, so many times the spread of the first tensor that is data."""
    offsets: list[float] = []

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        if around(times)(x, generator) is None:
            return None
        offsets.append(offsets[0] if offsets else times * float(x.to(torch.float64).std()))
        return cast(x.to(torch.float64) + offsets[0], x.dtype)

    return change
