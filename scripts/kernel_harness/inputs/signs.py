"""Signs that get_inputs seldom draws: both where it has one, one throughout a group of neighbours where it has both."""

from __future__ import annotations

import torch

from .variations import DATA, cast, is_sorted

RUN = 16  # neighbours
NEAR = 0.1  # shares of pairs of zeros of a tensor whose zeros lie anywhere


def both(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Half of the values of a tensor that has one sign get the other. Parameters (few values), masks (two values) and
    sorted tensors stay."""
    wide = x.to(torch.float64)
    one_signed = bool((wide >= 0).all()) or bool((wide <= 0).all())
    if not one_signed or x.numel() < DATA or is_sorted(x) or wide.flatten()[:4096].unique().numel() < 3:
        return None
    rows = torch.rand((*x.shape[:-1], 1), generator=generator, device=x.device)
    # Every fourth row changes as a whole: a maximum that starts from zero is right as long as one positive is left.
    whole = rows < 0.25 if x.dim() > 1 else torch.zeros_like(rows, dtype=torch.bool)
    flipped = whole | (torch.rand(x.shape, generator=generator, device=x.device) < 0.5)
    return cast(torch.where(flipped, -wide, wide), x.dtype)


def below_zero(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A tensor without negative values and with zeros here and there, as relu leaves it, entirely below zero: there a
    maximum that zero takes part in (the padding of a pool) shows. Zeros that lie together (padding, bands) stay."""
    wide = x.to(torch.float64)
    zeros = (wide == 0).flatten()
    share = float(zeros.to(torch.float64).mean()) if x.numel() else 0.0
    if x.numel() < DATA or not 0.2 <= share <= 0.8 or bool((wide < 0).any()) or is_sorted(x):
        return None
    pairs = float((zeros[1:] & zeros[:-1]).to(torch.float64).mean())
    positive = wide[wide > 0]
    if abs(pairs - share**2) > NEAR or positive.unique().numel() < 3:
        return None
    at = torch.randint(positive.numel(), x.shape, generator=generator, device=x.device)
    return cast(-torch.where(wide == 0, positive[at], wide), x.dtype)


def runs(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Of a tensor that has both signs a quarter of the groups of neighbours become positive, a quarter negative, and so
    does an eighth of the rows each: a maximum or minimum that is held against zero shows."""
    if x.dtype.itemsize < 2 or x.numel() < DATA or not (bool((x < 0).any()) and bool((x > 0).any())) or is_sorted(x):
        return None
    columns, draw = x.shape[-1], {"generator": generator, "device": x.device}
    groups = torch.rand((*x.shape[:-1], -(-columns // RUN)), **draw).repeat_interleave(RUN, -1)[..., :columns]
    if x.dim() > 1:
        rows = torch.rand((*x.shape[:-1], 1), **draw)
        groups = torch.where(rows < 0.25, 2 * rows, groups)
    wide = x.to(torch.float64)
    return cast(torch.where(groups < 0.25, wide.abs(), torch.where(groups < 0.5, -wide.abs(), wide)), x.dtype)


def positive(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The magnitudes of a tensor that has both signs."""
    if x.dtype.itemsize < 2 or x.numel() < DATA or not (bool((x < 0).any()) and bool((x > 0).any())) or is_sorted(x):
        return None
    return x.abs()


def negative(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Their opposites: products with what is positive are below the zeros that fill up a tile."""
    magnitudes = positive(x, generator)
    return None if magnitudes is None else -magnitudes


def zeros_above(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The same with zeros of both signs, which are alike, as the largest: a maximum by bits tells them apart."""
    below = negative(x, generator)
    if below is None:
        return None
    hit = torch.rand(x.shape, generator=generator, device=x.device)
    wide = torch.where(hit < 0.1, 0.0, below.to(torch.float64))
    return cast(torch.where(hit > 0.9, -0.0, wide), x.dtype)
