"""Inputs with NaN and infinities in them."""

from __future__ import annotations

import math

import torch

from .variations import places


def specials(x: torch.Tensor, generator: torch.Generator, marks=(math.inf, -math.inf, math.nan)) -> torch.Tensor:
    """NaN and infinities at a few random places (NaN only where the format has no infinity)."""
    wide = x.to(torch.float64, copy=True).flatten()
    for value in marks:
        wide[places(x, generator, 512)] = value
    return _narrowed(wide.view(x.shape), x.dtype)


def nans(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """NaN at a few random places."""
    return specials(x, generator, (math.nan,))


def infinities(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Infinity at a few random places, where the format has one."""
    return specials(x, generator, (math.inf,)) if _has_infinity(x) else x


def minus_infinities(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The same of minus infinity."""
    return specials(x, generator, (-math.inf,)) if _has_infinity(x) else x


def _has_infinity(x: torch.Tensor) -> bool:
    return math.isinf(x.new_tensor(math.inf).item())


def large(x: torch.Tensor, _generator: torch.Generator) -> torch.Tensor:
    """Each infinity a number that is large, and whose square is finite."""
    most = torch.finfo(x.dtype).max ** 0.5 / 2
    return x.double().nan_to_num(math.nan, most, -most).to(x.dtype)


def _narrowed(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """In ``dtype``, every NaN positive: PyTorch's vector code makes 0xFFFF of one for bfloat16, and to a GPU's sorts
    that is the least of all numbers."""
    narrow = wide.to(dtype)
    if dtype is torch.bfloat16:
        narrow.view(torch.int16).masked_fill_(wide.isnan(), 0x7FC0)
    return narrow
