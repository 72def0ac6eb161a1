"""Values at the grain of number formats: what differs by less than 16 bits show, and numbers of few binary digits.

A reference that only adds, multiplies and scales by powers of two rounds none of the latter, so that what it does
round, to whole numbers, lies exactly between two of them at many places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from ..values import Bundle

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


def short(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """The same data in three binary digits, 1, 1.25, 1.5 or 1.75 times a power of two, as the largest of a block is
    then, too: what a scale is chosen by lies on the border between two of them. Parameters as in dyadic."""
    wide = x.to(torch.float64)
    if x.numel() < DATA or float(wide.min()) > 0:
        return _nearest_power(wide).to(x.dtype)
    mantissa, exponent = torch.frexp(wide)
    return torch.where(torch.isfinite(wide), torch.ldexp((mantissa * 8).round() / 8, exponent), wide).to(x.dtype)


def dyadic_numbers(bundle: Bundle) -> Bundle:
    """The same tensors beside numbers that are the nearest powers of two."""
    items = [
        {**node, "value": float(_nearest_power(torch.tensor(node["value"], dtype=torch.float64)))}
        if node["kind"] == "float" and isinstance(node["value"], float)
        else node
        for node in bundle.tree["items"]
    ]
    return replace(bundle, tree={**bundle.tree, "items": items})


def meeting(bundle: Bundle) -> Callable:
    """A change that gives a quarter of the data values of the numbers beside them: the ends of a range, a threshold."""
    numbers = [node["value"] for node in bundle.tree["items"] if node["kind"] == "float" and _is_usual(node["value"])]

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        if x.numel() < DATA or not numbers:
            return None
        draw = {"generator": generator, "device": x.device}
        which = torch.randint(0, len(numbers), x.shape, **draw)
        hit = torch.rand(x.shape, **draw) < 0.25
        return torch.where(hit, torch.tensor(numbers, dtype=x.dtype, device=x.device)[which], x)

    return change


def at_the_steps_of(steps: torch.Tensor) -> Callable:
    """A change that gives a quarter of the elements, those between the ends of ``steps``, values of it."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        if x.dtype != steps.dtype:
            return None
        draw = {"generator": generator, "device": x.device}
        hit = (torch.rand(x.shape, **draw) < 0.25) & (x >= steps[0]) & (x <= steps[-1])
        within = steps.to(x.device)[(steps >= x.min()) & (steps <= x.max())]
        return torch.where(hit, within[torch.randint(len(within), x.shape, **draw)], x) if len(within) else None

    return change


def are_steps(x: torch.Tensor) -> bool:
    """Are these numbers in ascending order, no two the same, as the edges of bins are?"""
    is_row = x.dtype.is_floating_point and x.dtype.itemsize > 1 and x.dim() == 1 and len(x) > 1
    return is_row and bool((x.diff() > 0).all())


def _is_usual(value) -> bool:
    return isinstance(value, float) and 2.0**-9 <= abs(value) <= 2.0**9


def nudge(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
    """Every value moves halfway to the nearest one of eleven bits: in 16 bits, or TF32, each stays what it was."""
    if x.dtype not in (torch.float32, torch.float64):
        return None
    near = x.to(torch.float16).to(x.dtype)
    moved = x + (near - x) / 2
    stays = moved.to(torch.bfloat16) == x.to(torch.bfloat16)  # half of one last digit may end on a tie
    return torch.where(torch.isfinite(near) & (near.abs() >= 2.0**-14) & stays, moved, x)


def _nearest_power(wide: torch.Tensor) -> torch.Tensor:
    usable = torch.isfinite(wide) & (wide != 0)
    power = torch.exp2(torch.round(torch.log2(torch.where(usable, wide.abs(), 1.0))))
    return torch.where(usable, torch.copysign(power, wide), wide)
