"""Keys among which one draws nearly all of a query's weight, as the first token of a text does: what all others have
together shows, what each has alone does not."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from .variations import cast, wide_parts

LEAST = 8  # keys, and elements of one
SHARES = {2: 0.2, 4: 0.002, 8: 0.002}  # of all others together, by the bytes of a value
LEAST_LEAD = 9.3  # a weight of 1e-4


def may_score(queries: torch.Tensor, keys: torch.Tensor) -> bool:
    """Have they vectors of one length, many keys, and values like drawn ones?"""
    floating = all(x.is_floating_point() and x.dtype.itemsize in SHARES and x.numel() for x in (queries, keys))
    if not floating or keys.dim() < 2 or not queries.dim() or queries.shape[-1] != keys.shape[-1]:
        return False
    is_finite = all(bool(torch.isfinite(part).all()) for x in (queries, keys) for part in wide_parts(x))
    return is_finite and min(keys.shape[-2:]) >= LEAST and float(keys.min()) < 0 < float(keys.max())


def along(queries: torch.Tensor) -> Callable:
    """A change of keys (..., n, d): the first becomes a multiple of the last query of its batch (of the first where
    these differ), whose score, scaled by 1 / sqrt(d), is above those of the others, which come near zero, by as
    much as leaves them their share, or less where they are few."""

    def change(keys: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        wide, count, length = keys.to(torch.float64), keys.shape[-2], keys.shape[-1]
        query = _of_each_batch(queries.to(torch.float64), wide)
        square = query.square().sum(-1, keepdim=True)
        lead = max(LEAST_LEAD, math.log(count / SHARES[keys.dtype.itemsize])) * math.sqrt(length)
        new = wide * (0.1 / max(float(wide.square().mean().sqrt()), 1e-300))
        new[..., 0, :] = torch.where(square > 0, query * (lead / square.clamp(min=1e-300)), query)
        return cast(new, keys.dtype)

    return change


def _of_each_batch(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """The last query for each batch of keys; several heads of queries may share one of keys."""
    if queries.dim() == keys.dim():
        last = queries[..., -1, :]
        for axis, size in enumerate(keys.shape[:-2]):
            if last.shape[axis] % size:
                break
            last = last[(slice(None),) * axis + (slice(None, None, last.shape[axis] // size),)]
        else:
            return last
    return queries.reshape(-1, queries.shape[-1])[0]
