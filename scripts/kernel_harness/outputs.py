"""What a kernel returned: is it plain data, and whose memory is it?"""

from __future__ import annotations

import collections

import torch

from . import values

OVERLAP_LIMIT_ELEMENTS = 1 << 22   # of two results together; larger ones are not compared cell by cell
GAP_ELEMENTS = 1 << 26   # of a result whose distance from another is computed in one go


def result_problem(result) -> dict | None:
    """None for a plain value, else why it is none, as a worker answers it: subclasses, attributes and lazy tensors are
    refused."""
    if foreign := foreign_container(result):
        said = f"kernel_fn returns a {foreign}, not a plain tuple, list or dict: it can compute when it is read"
        return {"problem": said, "check": "structure"}
    said = _tensor_problem(result)
    return {"problem": said, "check": "plain-result"} if said else None


def _tensor_problem(result) -> str | None:
    for tensor in leaves(result, all_tensors=True):
        if type(tensor) is not torch.Tensor:
            return (f"kernel_fn returns a {type(tensor).__module__}.{type(tensor).__name__}, not a plain torch.Tensor: "
                    "a subclass can compute when it is read")
        if extra := [name for name in vars(tensor) if not name.startswith("_dynamo")]:
            return f"kernel_fn returns a tensor with attributes of its own ({', '.join(map(str, extra))[:100]})"
        if tensor.device.type == "meta":
            return "kernel_fn returns a tensor on the meta device: it holds no data"
        if tensor.layout is torch.strided and tensor.numel() and tensor.untyped_storage().nbytes() == 0:
            return "kernel_fn returns a tensor whose storage is empty"
    return None


def foreign_container(value) -> str | None:
    if isinstance(value, (list, tuple, dict)):
        kind = type(value)
        named = isinstance(value, tuple) and (hasattr(kind, "_fields") or kind.__module__ == "torch.return_types")
        if kind not in (list, tuple, dict, collections.OrderedDict) and not named:
            return f"{kind.__module__}.{kind.__qualname__}"
        return next(filter(None, map(foreign_container, value.values() if isinstance(value, dict) else value)), None)
    return None


def contents(inputs: list) -> list[str]:
    """What each input holds: a list or a dict as text, of a tensor the number of writes to it that PyTorch counted."""
    return [repr(_written(value)) for value in inputs]


def _written(value):
    if isinstance(value, torch.Tensor):
        return value._version
    if isinstance(value, dict):
        return {key: _written(one) for key, one in value.items()}
    return [_written(one) for one in value] if isinstance(value, (list, tuple)) else value


def aliases(result, inputs: list, mutates: frozenset[int]) -> list[str]:
    """Which results share memory with an input that is not in ``mutates``, with each other, or within themselves."""
    texts = []
    texts += overlaps([t for t in leaves(result) if t.numel()])
    spans = [(f"input {i}", *memory(t)) for i, value in enumerate(inputs) if i not in mutates
             for t in leaves(value) if t.numel()]
    for index, tensor in enumerate(leaves(result)):
        if not tensor.numel():
            continue
        label, (start, stop) = f"output {index}", memory(tensor)
        texts += [f"{label} shares memory with {other}" for other, low, high in spans if start < high and low < stop]
        if any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)):
            texts.append(f"{label} is expanded (stride 0): several elements are one memory cell")
        elif overlaps_itself(tensor):
            texts.append(f"{label} overlaps itself: several elements are one memory cell")
    return texts


def overlaps(tensors: list[torch.Tensor]) -> list[str]:
    """Pairs of results with an element in common. Interleaved views of one buffer have none."""
    texts = []
    for i, a in enumerate(tensors):
        for j, b in enumerate(tensors[:i]):
            (low, high), (start, stop) = memory(a), memory(b)
            if low < stop and start < high and a.numel() + b.numel() <= OVERLAP_LIMIT_ELEMENTS and common_cells(a, b):
                texts.append(f"outputs {j} and {i} share memory")
    return texts


def common_cells(a: torch.Tensor, b: torch.Tensor) -> bool:
    cells = [tensor.data_ptr() + _offsets(tensor) * tensor.element_size() for tensor in (a, b)]
    return bool(torch.isin(*cells).any())


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Is an element of it another one, too, as of windows that share samples? Of a large one: are there fewer cells?"""
    reach, nests = 0, True
    for stride, size in sorted((n, size) for size, n in zip(tensor.shape, tensor.stride(), strict=True) if size > 1):
        nests, reach = nests and stride > reach, reach + stride * (size - 1)
    if nests or tensor.numel() > OVERLAP_LIMIT_ELEMENTS:
        return tensor.numel() > reach + 1
    return len(_offsets(tensor).unique()) < tensor.numel()


def _offsets(tensor: torch.Tensor) -> torch.Tensor:
    """Where in its memory each element lies, in elements from the first."""
    offsets = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        offsets = offsets.unsqueeze(-1) + torch.arange(size) * stride
    return offsets.flatten()


def memory(tensor: torch.Tensor) -> tuple[int, int]:
    start, stop = values.extent(tensor)
    base = tensor.untyped_storage().data_ptr()
    return base + start, base + stop


def leaves(value, all_tensors: bool = False):
    if isinstance(value, torch.Tensor):
        if all_tensors or type(value) is torch.Tensor or isinstance(value, torch.nn.Parameter):
            yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item, all_tensors)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item, all_tensors)


def places(value) -> set[int]:
    """Addresses of its tensors."""
    return {t.data_ptr() for t in leaves(value) if t.layout is torch.strided and t.numel()}


def gradients(result, inputs: list, kind: str) -> list[torch.Tensor]:
    """Of the inputs that require one, for gradients of the results that are the same in each process and exact in each
    format of 16 bits or more. kind: "whole", or "sliced" for such as torch.cat hands on, whose rows lie further apart.
    ValueError where no result requires one."""
    ends = [t for t in leaves(result) if t.requires_grad]
    if not ends:
        raise ValueError("no result requires a gradient, though inputs do")
    draws = [torch.randint(-8, 9, t.shape, generator=torch.Generator().manual_seed(i)) for i, t in enumerate(ends)]
    given = [draw.div(4).to(t) for draw, t in zip(draws, ends, strict=True)]
    if kind == "sliced":
        given = [torch.cat((g, torch.ones_like(g)), -1)[..., : g.shape[-1]] if g.dim() else g for g in given]
    wanted = [t for t in leaves(inputs) if t.requires_grad]
    found = torch.autograd.grad(ends, wanted, given, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(wanted, found, strict=True)]


def settled(value):
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg()
    if isinstance(value, list):
        return [settled(item) for item in value]
    if isinstance(value, tuple):
        return tuple(settled(item) for item in value)
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items()}
    return value


def distance(result, first) -> float:
    """Largest difference of two results, infinite where only one is a number."""
    with torch.no_grad():
        gaps = [_gap(a, b) for a, b in zip(leaves(result), leaves(first), strict=True)
                if a.numel() and not a.dtype.is_complex]
    return max(gaps, default=0.0)


def _gap(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.numel() > GAP_ELEMENTS:   # float64 copies of a result of gigabytes would not fit
        if len(a) == 1:
            return _gap(a[0], b[0])
        return max(map(_gap, a.tensor_split(2), b.tensor_split(2)))
    return (a.to(torch.float64) - b.to(torch.float64)).abs().nan_to_num(nan=1e300).max().item()
