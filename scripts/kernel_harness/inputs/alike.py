"""Rows that are alike, slices that are not where get_inputs expands one over a dimension, and columns that lie together
in memory where its rows do."""

from __future__ import annotations

import torch

from .variations import DATA, cast, is_sorted


def rows(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """All rows as the first: what they are sorted by, counted by or sent to is the same for all."""
    is_data = x.dim() > 1 and x.numel() >= DATA and x.dtype.itemsize > 1 and not is_sorted(x)
    return x.reshape(-1, x.shape[-1])[:1].expand(x.numel() // x.shape[-1], -1).reshape(x.shape) if is_data else None


def is_expanded(x: torch.Tensor) -> bool:
    return any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride(), strict=True))


def apart(x: torch.Tensor, seed: int) -> torch.Tensor:
    """A contiguous tensor in place of an expanded one, whose slices differ: values between two thirds and one and a
    third of what they were."""
    generator = torch.Generator().manual_seed(seed)
    factors = torch.rand(x.shape, generator=generator, dtype=torch.float64) * (2 / 3) + 2 / 3
    return cast(x.to("cpu", torch.float64) * factors, x.dtype).contiguous()


def turned(x: torch.Tensor) -> torch.Tensor:
    """The same matrix, or batch of them, column by column in memory."""
    return x.mT.contiguous().mT if x.dim() > 1 and min(x.shape[-2:]) > 1 else x
