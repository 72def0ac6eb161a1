"""Where PyTorch promises no order among equal values, a kernel's order is as good as PyTorch's own.

``torch.topk``, and ``torch.sort`` and ``torch.argsort`` that are not asked to be stable, say nothing about which of
equal elements comes first. The reference is then asked again with the kernel's choice, if that is one: positions in
range, none twice, of the same values in the same order.
"""

from __future__ import annotations

import torch
from torch.overrides import TorchFunctionMode

TOPK, SORTS = ("topk",), ("sort", "argsort")


def _topk(input, k, dim=-1, largest=True, sorted=True):
    return input, dim, sorted


def _sort(input, dim=-1, descending=False, stable=False):
    return None if stable else (input, dim, True)


# What each takes, as (input, dimension, is the result in order): None where PyTorch promises the order of equal ones.
FREE = {getattr(owner, name): _topk if name in TOPK else _sort
        for owner in (torch, torch.Tensor) for name in (*TOPK, *SORTS)}  # fmt: skip


class Choices(TorchFunctionMode):
    """Puts those of ``proposals``, integer tensors, that are right answers in the place of PyTorch's own; with
    ``turned`` what PyTorch answers where each row comes from its end.

    is_free: an operation ran that leaves a choice. tied: the orders it made where some values were equal.
    """

    def __init__(self, proposals: list[torch.Tensor], turned: bool = False):
        super().__init__()
        self.proposals, self.turned, self.is_free, self.tied = proposals, turned, False, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if function not in FREE:
            return result
        try:
            call = FREE[function](*args, **kwargs)
        except TypeError:  # another of its signatures: left as it is
            return result
        if call is None:
            return result
        self.is_free = True
        is_pair = not isinstance(result, torch.Tensor)
        if self.turned and call[0].dim():
            flipped = call[0].flip(call[1])
            again = function(flipped, *args[1:], **kwargs) if args else function(**{**kwargs, "input": flipped})
            order = call[0].shape[call[1]] - 1 - (again[1] if is_pair else again)
            return type(result)((again[0], order)) if is_pair else order
        order = result[1] if is_pair else result
        if bool((call[0].sort(call[1]).values.diff(dim=call[1]) == 0).any()):
            self.tied.append(order)
        for proposal in self.proposals:
            if proposal.numel() == order.numel() and order.dim():
                chosen = proposal.to(order).reshape(order.shape)
                if _is_equivalent(order, chosen, *call):
                    return type(result)((call[0].gather(call[1], chosen), chosen)) if is_pair else chosen
        return result


def is_hidden(tied: list[torch.Tensor], result: list[torch.Tensor]) -> bool:
    """Does some order of equal values show in what is made of it alone, so that no other can be put in its place?"""
    shown = [t.to(torch.int64).flatten() for t in result if not (t.dtype.is_floating_point or t.dtype.is_complex)]
    return not all(any(torch.equal(order.flatten(), t) for t in shown) for order in tied)


def _is_equivalent(order, chosen, x, dim, in_order) -> bool:
    """Does ``chosen`` pick the same values of ``x`` as ``order``, each position once?"""
    if not order.numel() or chosen.min() < 0 or chosen.max() >= x.shape[dim]:
        return False
    positions = chosen.sort(dim).values
    if bool((positions.diff(dim=dim) == 0).any()):
        return False
    ours, theirs = (x.gather(dim, index) for index in (order, chosen))
    if not in_order:
        ours, theirs = ours.sort(dim).values, theirs.sort(dim).values
    return bool(((ours == theirs) | (ours != ours) & (theirs != theirs)).all())
