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


def winding(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Pictures become one line that turns at every other row: what spreads along it takes as long as can be."""
    if not _is_picture(x):
        return None
    new = torch.zeros_like(x)
    new[..., ::2, :] = 1
    new[..., 1::4, -1] = 1
    new[..., 3::4, 0] = 1
    return new


def staircase(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Pictures become a line that takes a step to the side with each step down, to and fro, or a step down with each
    to the side where they are wider than high."""
    if not _is_picture(x):
        return None
    new = torch.zeros_like(x)
    along = new if x.shape[-2] >= x.shape[-1] else new.mT
    high, wide = along.shape[-2:]
    steps = torch.arange(high + 1, device=x.device)
    beside = wide - 1 - (steps % (2 * wide - 2) - (wide - 1)).abs()
    along[..., steps[:-1], beside[:-1]] = 1
    along[..., steps[:-1], beside[1:]] = 1
    return new


def _is_picture(x: torch.Tensor) -> bool:
    """True and False, or ones and zeros, in two dimensions of some length, that follow no rule of masks or graphs."""
    if x.dim() < 2 or min(x.shape[-2:]) < 8 or x.dtype.is_floating_point or x.dtype.is_complex:
        return False
    of_two = x.dtype is torch.bool or bool(((x == 0) | (x == 1)).all())
    return of_two and not _are_parted(x) and not _have_as_many(x) and not _is_relation(x)


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


def _is_relation(x: torch.Tensor) -> bool:
    """Symmetric or triangular, or with all of the diagonal: of what is there twice, as the nodes of a graph."""
    if x.shape[-1] != x.shape[-2]:
        return False
    of_itself = bool(x.diagonal(dim1=-2, dim2=-1).all()) or not bool(x.triu(1).any()) or not bool(x.tril(-1).any())
    return of_itself or torch.equal(x, x.mT)


def _have_as_many(x: torch.Tensor) -> bool:
    counts = x.sum(-1)
    return bool((counts == counts.flatten()[0]).all()) and not bool(x.all())
