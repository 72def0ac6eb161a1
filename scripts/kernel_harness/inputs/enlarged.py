"""A part of the data far larger than the rest: what does not depend on it stays what it was."""

from __future__ import annotations

import torch

from .variations import DATA, cast, is_sorted

TIMES = 4096
SHARE = 8  # one row in so many


def first_rows(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The first rows of a matrix (or batch of them) are so many times as large as they were: a running sum, or one
    maximum for all rows, that carries them on loses the digits of the others. Of one dimension a transform that mixes
    all of it (an FFT) is as honest as any, and is left alone."""
    if x.dim() < 2 or x.shape[0] < 2 or x.numel() < DATA or x.dtype.itemsize < 2 or is_sorted(x):
        return None
    wide = x.to(torch.float64, copy=True)
    wide[: max(1, len(x) // SHARE)] *= TIMES
    return cast(wide, x.dtype)
