"""Inputs of more elements than 32 bits count, too many for a file: each process makes them itself, from one seed, and
hands out samples of them and of its result."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from pathlib import Path

import torch

from .. import values
from ..contract import KernelFile
from ..outputs import leaves
from .case_numbers import keeps, named, orders_among, tied_places, with_size
from .case_sizes import default_sizes
from .seeding import reseeded

SAMPLES, STRETCH = 8192, 512  # places of a tensor: at random; the first beyond ``elements``, and the last
BEYOND = 1.5  # times ``elements``: a third of a tensor's places are beyond them


def vast_sizes(file: KernelFile, elements: int, most_bytes: int) -> dict:
    """For each size of the file's cases by which the largest input grows: ``size``, at which that has BEYOND times
    ``elements``, its ``places`` in the first case, and the size as a sentence tells it. Of ``most_bytes`` together."""
    given, found = _cases(file), []
    tied, orders = tied_places(given), orders_among(given)
    for sizes, places in tied.items():
        here, step = sizes[0], math.gcd(*sizes)
        if min(sizes) < 0 or here == 0 or len(set(sizes)) < 2:
            continue
        with contextlib.suppress(Exception):  # whatever get_inputs raises
            few, many = (_measured(file, with_size(given[0], places, size)) for size in (here, 2 * here))
            growth, more_bytes = ((b - a) / here for a, b in zip(few, many, strict=True))
            size = here + math.ceil((BEYOND * elements - few[0]) / growth) if growth > 0 else 0
            size = 1 << size.bit_length() if all(n & (n - 1) == 0 for n in sizes) else -(-size // step) * step
            nbytes = few[1] + more_bytes * (size - here)
            if growth > 0 and nbytes <= most_bytes and keeps(orders, with_size(given[0], places, size)):
                found.append({"places": places, "size": size, "what": named(places, size), "nbytes": nbytes})
    return {"found": sorted(found, key=lambda one: one["nbytes"])}


def sample_reference(file: KernelFile, **asked) -> dict:
    """``sampled`` of reference_fn."""
    return sampled(file, file.reference_fn, contextlib.nullcontext(), **asked)


def sampled(
    file: KernelFile, function: Callable, while_drawing, places: list, size: int, elements: int, seed: int, output: str
) -> dict:
    """Samples of the inputs that get_inputs makes of the first case with ``size`` at ``places``, and of what function
    returns for them, in the file ``output``. ``shapes``: of the results. while_drawing: a context for get_inputs."""
    try:
        return _sampled(file, function, while_drawing, places, size, elements, seed, output)
    finally:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()  # the next process needs as much


def _sampled(file, function, while_drawing, places, size, elements, seed, output) -> dict:
    case = with_size(_cases(file)[0], [tuple(place) for place in places], size)
    with while_drawing, reseeded(seed):
        inputs = list(file.get_inputs(**case))
    given = [_samples(tensor, elements, seed) for tensor in leaves(inputs, all_tensors=True)]
    result = function(*inputs)
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    returned = list(leaves(result, all_tensors=True))
    found = {"inputs": given, "result": [_samples(tensor, elements, seed) for tensor in returned]}
    return {"bundle": values.save(found, Path(output)).to_json(), "shapes": [list(tensor.shape) for tensor in returned]}


def far_off(result: list[torch.Tensor], expected: list[torch.Tensor]) -> str:
    """Where samples of results are another number altogether, not one that is rounded otherwise; "" if few are."""
    for index, (got, wanted) in enumerate(zip(result, expected, strict=True)):
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            return f"output {index} is {got.dtype}, the reference's {wanted.dtype}"
        if not wanted.dtype.is_floating_point:
            wrong = got != wanted
        else:
            a, b = got.to(torch.float64), wanted.to(torch.float64)
            spread = float(b[b.isfinite()].square().mean().sqrt()) if bool(b.isfinite().any()) else 0.0
            wrong = ((a - b).abs() > (b.abs() + spread) / 16) | (a.isnan() != b.isnan())
        if int(wrong.sum()) > wrong.numel() // 256 + 8:
            at = int(wrong.nonzero()[0])
            return (f"{int(wrong.sum())} of {wrong.numel()} samples of output {index} are far off, one of them "
                    f"{got[at].item():g}, the reference's {wanted[at].item():g}")
    return ""


def _samples(tensor: torch.Tensor, elements: int, seed: int) -> torch.Tensor:
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    if tensor.numel() <= SAMPLES or tensor.dtype in values.PACKED:
        return tensor.detach().flatten().cpu()
    count, chances = tensor.numel(), torch.Generator().manual_seed(seed)
    places = [torch.randint(0, count, (SAMPLES,), generator=chances), torch.arange(count - STRETCH, count)]
    places += [torch.arange(elements, elements + STRETCH)] if count >= elements + STRETCH else []
    at = torch.unravel_index(torch.cat(places).to(tensor.device), tensor.shape)
    return tensor.detach()[at].cpu()


def _cases(file: KernelFile) -> list[dict]:
    return [{**default_sizes(file), **case} for case in file.cases.values()]


def _measured(file: KernelFile, case: dict) -> tuple[int, int]:
    """Elements of the largest tensor of the inputs, and the bytes of all."""
    inputs = file.get_inputs(**case)
    return max(tensor.numel() for tensor in leaves(inputs, all_tensors=True)), values.reached_bytes(inputs)


QUESTIONS = {"vast_sizes": vast_sizes, "sample_reference": sample_reference}
