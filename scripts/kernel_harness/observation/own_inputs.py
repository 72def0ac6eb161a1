"""Tensors that get_inputs makes in the process of kernel_fn: whatever it leaves behind for them is stale once their
values are others."""

from __future__ import annotations

import torch

from ..contract import KernelFile
from ..outputs import leaves
from . import reference_guard


def drawn(file: KernelFile, case: str) -> list:
    """What get_inputs makes here, nothing where it fails: it did not in the process whose inputs are judged."""
    try:
        with reference_guard.allowed(file):
            return list(file.get_inputs(**file.cases[case]))
    except Exception:
        return []


def holding(drawn: list, inputs: list) -> list:
    """``inputs`` with the tensors of ``drawn`` in place of those that are alike, and their values in them."""
    if len(drawn) != len(inputs):
        return inputs
    return [_holding(mine, given) for mine, given in zip(drawn, inputs, strict=True)]


def _holding(mine, given):
    if _layout(mine) != _layout(given):
        return given
    try:
        with torch.no_grad():
            for own, values in zip(leaves(mine), leaves(given), strict=True):
                own.copy_(values)
    except RuntimeError:  # elements that share their memory take no values
        return given
    return mine if _layout(mine) else given


def _layout(value) -> list:
    return [(t.shape, t.stride(), t.dtype, t.device) for t in leaves(value)]
