"""Numbers of few binary digits: a reference that only adds, multiplies and scales by powers of two rounds none of them,
so that what it does round, to whole numbers, lies exactly between two of them at many places."""

from __future__ import annotations

from dataclasses import replace

import torch

from .values import Bundle

DATA = 64  # elements; fewer are parameters


def dyadic(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Numbers of few binary digits that end at various places, so that scaled by a power of two some lie halfway
    between whole numbers; parameters and what is positive by its nature become the nearest powers of two."""
    wide = x.to(torch.float64)
    if x.numel() < DATA or float(wide.min()) > 0:
        return _nearest_power(wide).to(x.dtype)
    draw = {"generator": generator, "device": x.device}
    odd, end = (torch.randint(low, high, x.shape, **draw) for low, high in ((0, 16), (0, 10)))
    sign = torch.where(wide < 0, -1, 1)
    scale = _nearest_power(wide.square().mean().sqrt())
    return torch.where(torch.isfinite(wide), sign * (2 * odd + 1) * 2.0**-end * scale, wide).to(x.dtype)


def dyadic_numbers(bundle: Bundle) -> Bundle:
    """The same tensors beside numbers that are the nearest powers of two."""
    items = [
        {**node, "value": float(_nearest_power(torch.tensor(node["value"], dtype=torch.float64)))}
        if node["kind"] == "float" and isinstance(node["value"], float)
        else node
        for node in bundle.tree["items"]
    ]
    return replace(bundle, tree={**bundle.tree, "items": items})


def _nearest_power(wide: torch.Tensor) -> torch.Tensor:
    usable = torch.isfinite(wide) & (wide != 0)
    power = torch.exp2(torch.round(torch.log2(torch.where(usable, wide.abs(), 1.0))))
    return torch.where(usable, torch.copysign(power, wide), wide)
