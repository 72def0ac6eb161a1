"""Kernels that compute nothing: if one of them passes the comparison, the comparison says nothing."""

from __future__ import annotations

import math

import torch

from .. import values

COPY = "a copy of an input"


def null_results(native: torch.Tensor, inputs: list[torch.Tensor], previous: torch.Tensor | None):
    """(name, result) of kernels that compute nothing, in the shape and dtype of ``native``.

    A copy of an input is left out when that is the right answer, bit for bit: copying is then the operation.
    """
    floating = native.dtype.is_floating_point
    yield "zeros", torch.zeros(native.shape).to(native.dtype)
    yield "ones", torch.ones(native.shape).to(native.dtype)
    if floating:
        yield "NaN", torch.full(native.shape, math.nan, dtype=torch.float64).to(native.dtype)
        finite = native.to(torch.float64)
        finite = finite[torch.isfinite(finite)]
        if finite.numel() and finite.min() < finite.max():
            yield "the mean of the right answer", torch.full(native.shape, float(finite.mean()),
                                                             dtype=torch.float64).to(native.dtype)
    if previous is not None and previous.shape == native.shape and previous.dtype == native.dtype \
            and not _identical(previous, native):
        yield "the previous output", previous
    for tensor in inputs:
        if tensor.shape == native.shape and tensor.dtype == native.dtype and not _identical(tensor, native):
            yield COPY, tensor


def _identical(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(values.flat_bytes(a), values.flat_bytes(b))
