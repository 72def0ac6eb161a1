"""Indices and symbols in forms that docstrings promise or that comparisons meet: repeated, counted from the end."""

from __future__ import annotations

import torch

from .integers import WIDE, is_in_order


def as_before(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """A third of the integers become what is before them in their row, some after each other."""
    if x.dtype not in WIDE or x.dim() == 0 or x.shape[-1] < 2 or is_in_order(x):
        return None
    stays = torch.rand(x.shape, generator=generator, device=x.device) > 1 / 3
    place = torch.where(stays, torch.arange(x.shape[-1], device=x.device), 0).cummax(-1).values
    return x.gather(-1, place)


def from_the_end(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Half of the indices become negative ones that are as far from the end as they were from the start."""
    if x.dtype not in WIDE or not x.numel() or int(x.min()) < 0:
        return None
    return torch.where(torch.rand(x.shape, generator=generator, device=x.device) < 0.5, ~x, x)


def are_symbols(x: torch.Tensor) -> bool:
    """Rows of integers in no order, of which some come again: text, or codes."""
    is_row = not x.dtype.is_floating_point and not x.dtype.is_complex and x.dtype is not torch.bool and x.dim() > 0
    return is_row and x.shape[-1] >= 16 and not is_in_order(x) and len(x.unique()) < x.numel()
