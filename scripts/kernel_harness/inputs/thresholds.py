"""Numbers with which reference_fn compares an input, by their names: only there does > differ from >=, and a draw of
random values meets them never."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import torch

from .integers import NARROW
from .reference_source import reference_of


def compared(tree: ast.Module, arguments: Sequence[float | None]) -> list[tuple[float, int]]:
    """[(number, input)]: each number, written out or an argument, with which the reference compares this input as is.
    arguments: the inputs, in place of each that is no number None."""
    function = reference_of(tree)
    inputs = dict(zip((p.arg for p in function.args.args), enumerate(arguments), strict=False)) if function else {}
    found = []
    for node in ast.walk(function) if function else ():
        if not isinstance(node, ast.Compare):
            continue
        known = [inputs.get(side.id) for side in (node.left, *node.comparators) if isinstance(side, ast.Name)]
        written = [_number(side) for side in (node.left, *node.comparators)]
        numbers = [*written, *(pair[1] for pair in known if pair)]
        at = [index for index, number in filter(None, known) if number is None]
        found += [(number, index) for index in at for number in numbers if number is not None]
    return list(dict.fromkeys(found))


def put(value: float):
    """A change that gives a quarter of the elements one value, which their format holds exactly. Of integers only codes
    get it: positions, sizes and slots have rules."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor | None:
        if x.numel() < 2 or not (x.dtype in NARROW or (x.dtype.is_floating_point and x.dtype.itemsize > 1)):
            return None
        if x.dtype in NARROW and not torch.iinfo(x.dtype).min <= value <= torch.iinfo(x.dtype).max:
            return None
        exact = torch.tensor(value, dtype=torch.float64).to(x.dtype)
        hit = torch.rand(x.shape, generator=generator, device=x.device) < 0.25
        hit.view(-1)[int(torch.randint(x.numel(), (), generator=generator, device=x.device))] = True
        return torch.where(hit, exact.to(x.device), x) if float(exact) == value else None

    return change


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if type(value) in (int, float) else None
