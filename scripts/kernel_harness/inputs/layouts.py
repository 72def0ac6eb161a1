"""Layouts of inputs that no case has, made of those that one has: one view among tensors that are none, and parts of
what is longer. A kernel that looks at one input's address or strides, and means all of them, is right until then."""

from __future__ import annotations

import itertools

import torch

ALIGNMENT = 16  # bytes, of the widest access


def is_plain(x: torch.Tensor) -> bool:
    """Does it lie as a new tensor does: contiguous, and at a multiple of ALIGNMENT in its memory?"""
    return x.is_contiguous() and x.storage_offset() * x.itemsize % ALIGNMENT == 0


def are_views(inputs) -> bool:
    return any(isinstance(x, torch.Tensor) and x.numel() and not is_plain(x) for x in inputs)


def mixed(inputs: list, of_one: bool = False) -> list[tuple[int, list]]:
    """[(index, the same values where that input alone lies as get_inputs laid it, the others as new tensors do)]; none
    for inputs of which fewer than two are views, or that share memory. of_one: but for parts of one tensor, which have
    no element in common."""
    tensors = {index: x for index, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.numel()}
    views = [index for index, x in tensors.items() if not is_plain(x)]
    are_apart = len({x.untyped_storage().data_ptr() for x in tensors.values()}) == len(tensors)
    if len(views) < 2 or not (are_apart or (of_one and not _have_common(list(tensors.values())))):
        return []
    plain = {index: tensors[index].clone(memory_format=torch.contiguous_format) for index in views}
    return [(at, [plain.get(i, x) if i != at else x for i, x in enumerate(inputs)]) for at in views]


def _have_common(tensors: list[torch.Tensor]) -> bool:
    """Is an element one of two of them? Halves of one projection lie in the same memory and share none."""
    taken: dict[int, torch.Tensor] = {}
    for x in tensors:
        memory = x.untyped_storage()
        marks = taken.setdefault(memory.data_ptr(), torch.zeros(memory.nbytes(), dtype=torch.bool, device=x.device))
        stride, at = [step * x.itemsize for step in x.stride()], x.storage_offset() * x.itemsize
        if bool(marks.as_strided(x.shape, stride, at).any()):
            return True
        marks.as_strided((*x.shape, x.itemsize), (*stride, 1), at).fill_(True)
    return False


def shifted(inputs: list) -> list | None:
    """The same values where each contiguous tensor begins one element into its memory; None where none is, or any
    begins off ALIGNMENT already."""
    tensors = [x for x in inputs if isinstance(x, torch.Tensor) and x.numel() > 1 and x.is_contiguous()]
    if not tensors or not all(map(is_plain, tensors)):
        return None
    return [_shifted(x) if any(x is one for one in tensors) else x for x in inputs]


def _shifted(x: torch.Tensor) -> torch.Tensor:
    return x.new_zeros(x.numel() + 1)[1:].view(x.shape).copy_(x)


def padded(inputs: list) -> list | None:
    """The same values where each contiguous matrix, or batch of them, is the first columns of one that is longer by a
    vector; None where there is none, or an input is a view already."""
    tensors = [x for x in inputs if isinstance(x, torch.Tensor) and x.numel()]
    if not any(x.dim() > 1 for x in tensors) or not all(map(is_plain, tensors)):
        return None
    return [_padded(x) if isinstance(x, torch.Tensor) and x.dim() > 1 and x.numel() else x for x in inputs]


def _padded(x: torch.Tensor) -> torch.Tensor:
    longer = x.new_zeros(*x.shape[:-1], x.shape[-1] + ALIGNMENT // x.itemsize)
    return longer[..., : x.shape[-1]].copy_(x)


def mirrored(inputs: list) -> list[tuple[str, list, list]]:
    """[(what, the inputs with a copy of the transpose of one square matrix in place of another, the same with that
    transpose itself, in the memory of the first)]: equal values and strides, and one address more."""
    square = [
        (index, x) for index, x in enumerate(inputs)
        if isinstance(x, torch.Tensor) and x.dim() == 2 and x.shape[0] == x.shape[1] > 1 and is_plain(x)
    ]  # fmt: skip
    found = []
    for (one, x), (other, y) in itertools.combinations(square, 2):
        if (x.shape, x.dtype) == (y.shape, y.dtype):
            apart = torch.empty_strided(x.shape, x.T.stride(), dtype=x.dtype, device=x.device).copy_(x.T)
            made = [[new if i == other else z for i, z in enumerate(inputs)] for new in (apart, x.T)]
            found.append((f"the transpose of input {one} for input {other}, in the same memory,", *made))
    return found


def parts(inputs: list) -> list | None:
    """The same values where each input of three dimensions or more that is not contiguous is a part of one that is
    longer in the second, as x[:, :n] of a longer sequence: strides but the first stay. None without such an input."""
    are_parts = [isinstance(x, torch.Tensor) and _may_be_part(x) for x in inputs]
    return [_part(x) if known else x for x, known in zip(inputs, are_parts, strict=True)] if any(are_parts) else None


def _may_be_part(x: torch.Tensor) -> bool:
    if x.dim() < 3 or x.is_contiguous() or x.shape[0] < 2 or not x.numel():
        return False
    outer = zip(x.stride()[:-1], x.shape[1:], x.stride()[1:], strict=True)
    return x.stride(-1) == 1 and all(stride >= size * inner for stride, size, inner in outer)


def _part(x: torch.Tensor) -> torch.Tensor:
    stride = (x.stride(0) + x.stride(1), *x.stride()[1:])
    part = x.new_zeros(x.shape[0] * stride[0]).as_strided(x.shape, stride)
    return part.copy_(x)
