"""Returns a named tuple where the reference returns a plain one.

catalogue: tricky because the container's class differs and its fields do not
seen at: issue list (nested result); torch.return_types.max is such a class
expect: PASS
needs: cpu
check: structure
"""

import typing

import torch


class Extremes(typing.NamedTuple):
    low: torch.Tensor
    high: torch.Tensor


def reference_fn(x):
    return x.amin(dim=-1), x.amax(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return Extremes(*torch.aminmax(x, dim=-1))
