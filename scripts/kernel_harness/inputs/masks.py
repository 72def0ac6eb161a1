"""Other masks than get_inputs makes: rows of which few, none or the last alone are True."""

from __future__ import annotations

import torch

from .integers import DATA


def one_each(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Masks of data get one True in each row, at a random place, but for those that part a row in two."""
    columns = x.shape[-1] if x.dim() else 0
    if x.dtype is not torch.bool or columns < 4 or x.numel() < DATA:
        return None
    if _are_parted(x):
        return None
    places = torch.randint(columns, (*x.shape[:-1], 1), generator=generator, device=x.device)
    return torch.zeros_like(x).scatter(-1, places, True)


def elsewhere(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """As many True in each row of a mask, at random places."""
    if x.dtype is not torch.bool or x.dim() == 0 or x.shape[-1] < 4:
        return None
    return x.gather(-1, torch.rand(x.shape, generator=generator, device=x.device).argsort(-1))


def unmask(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A boolean tensor that is all True or all False gets a quarter of the other value; nothing else changes."""
    if x.dtype is not torch.bool or x.numel() < 2 or bool(x.any()) != bool(x.all()):
        return None
    return torch.where(torch.rand(x.shape, generator=generator, device=x.device) < 0.25, ~x, x)


def hollow(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A quarter of the rows of a mask, at least one, get no True; where each has the same number, that is the rule."""
    if x.dim() < 2 or x.shape[-1] < 4 or x.numel() == x.shape[-1]:
        return None
    if _have_as_many(x):
        return None
    empty = torch.rand((*x.shape[:-1], 1), generator=generator, device=x.device) < 0.25
    empty.view(-1)[int(torch.randint(empty.numel(), (), generator=generator, device=x.device))] = True
    return x & ~empty


def led_by_false(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Rows of a mask that begin with nothing: only the last eighth of each is as it was, with one True at least. Not
    where a row is parted in two, as by a length, or has as many True as all others."""
    if x.dtype is not torch.bool or x.dim() < 2 or x.shape[-1] < 16 or x.numel() < DATA:
        return None
    if _have_as_many(x) or _are_parted(x):
        return None
    new = x & (torch.arange(x.shape[-1], device=x.device) >= x.shape[-1] * 7 // 8)
    new[..., -1] |= ~new.any(-1)
    return new


def _are_parted(x: torch.Tensor) -> bool:
    """Is every row a run of one value and a run of the other, as a length makes them?"""
    return int((x[..., 1:] != x[..., :-1]).sum(-1).max()) < 2


def _have_as_many(x: torch.Tensor) -> bool:
    counts = x.sum(-1)
    return bool((counts == counts.flatten()[0]).all()) and not bool(x.all())
