"""What PyTorch's operators make of a call's inputs: is the result no more than a copy of that, and which products do
they compute?"""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..outputs import leaves
from .fingerprint import fingerprint

# Operators that a library computes, and that are more work than what kernels do beside them.
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "_scaled_mm", "_int_mm", "_grouped_mm", "convolution"}
ATTENTION = "scaled_dot_product"  # part of many names
LEAST_ELEMENTS = 64  # of a floating result: fewer may be equal by chance


class Witness(TorchDispatchMode):
    """While it is entered: each result of an ATen operator that reads the memory of ``inputs`` and copies none."""

    def __init__(self, inputs):
        super().__init__()
        self.homes = set(map(_home, _strided(inputs)))
        self.seen: list[tuple[str, int, tuple]] = []
        self.products: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = _strided([args, kwargs or {}])
        name = func.overloadpacket.__name__
        if func.namespace == "aten" and (name in PRODUCTS or ATTENTION in name):
            self.products.add(f"aten.{name}")
        if func.namespace == "aten" and self.homes & set(map(_home, given)):
            before = {_print(t) for t in given}
            made = [t for t in _strided(result) if _home(t) not in self.homes]
            self.seen += [(str(func), _home(t), _print(t)) for t in made if _print(t) not in before]
        return result

    def told(self, result) -> dict:
        """What was seen, as facts of the call that gave ``result``."""
        return {"copied": self.copied(result), "products": sorted(self.products)}

    def copied(self, result) -> str:
        """The operator whose result each tensor of ``result`` equals, bit for bit, in other memory; or nothing."""
        tensors, names = _strided(result), []
        for tensor in tensors:
            home, mark = _home(tensor), _print(tensor)
            names += [name for name, other, print_ in self.seen if other != home and print_ == mark][:1]
        is_large = any(t.is_floating_point() and t.numel() >= LEAST_ELEMENTS for t in tensors)
        return names[0] if is_large and len(names) == len(tensors) else ""


def _strided(value) -> list[torch.Tensor]:
    return [t for t in leaves(value) if t.layout is torch.strided and t.numel()]


def _home(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _print(tensor: torch.Tensor) -> tuple:
    sums = fingerprint(tensor.detach().contiguous())
    return tensor.shape, tensor.dtype, tuple(sums.tolist() if isinstance(sums, torch.Tensor) else sums)
