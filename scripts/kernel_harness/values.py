"""Values across processes, byte for byte: a JSON tree for the structure, one flat file for the memory.

Tensors keep dtype, shape, strides, device and shared storage. Nothing is pickled: the judge reads what an untrusted
process wrote, and reading must not be able to run code.
"""

from __future__ import annotations

import math
import mmap
import os
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

ALIGNMENT = 4096      # of each storage in the file, and so in memory where the file is mapped
GUARD_BYTES = 4096    # untouchable bytes on either side of each storage
GUARD_BYTE = 0xFF     # NaN in every float format: what is read there shows in the result
GUARD_KINDS = 16      # patterns of guard zones, all of them NaN from 16 bits up: a copy of one over another shows, too

SCALARS = {"int": int, "float": float, "bool": bool, "str": str}
PACKED = {getattr(torch, "float4_e2m1fn_x2", None)}   # two numbers a byte: PyTorch converts them to no other dtype
FLOAT_TEXT = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
MASKED = 2.0**12  # a larger number may say minus infinity


class UnsupportedValue(TypeError):
    """A value that is neither a tensor, a Python scalar, nor a list, tuple or dict of these."""


@dataclass(frozen=True)
class Span:
    """One storage in the file: ``nbytes`` at ``offset``, between two guard zones."""

    offset: int
    nbytes: int
    device: str


@dataclass(frozen=True)
class Bundle:
    """A value laid out in a file: the tree names dtypes and strides, the spans say where the bytes are.

    symbols: (input, tensor within it) of the tensors whose values are symbols, which too few are there to show.
    """

    tree: dict
    spans: tuple[Span, ...]
    file: str
    size: int
    symbols: frozenset[tuple[int, int]] = frozenset()

    def to_json(self) -> dict:
        return {"tree": self.tree, "spans": [[s.offset, s.nbytes, s.device] for s in self.spans],
                "file": self.file, "size": self.size, "symbols": sorted(self.symbols)}

    @classmethod
    def from_json(cls, document: dict) -> Bundle:
        return cls(document["tree"], tuple(Span(int(o), int(n), str(d)) for o, n, d in document["spans"]),
                   str(document["file"]), int(document["size"]), frozenset(map(tuple, document["symbols"])))


class Mapping:
    """A bundle's file in memory; tensors made from it share its bytes with every process that maps it.

    sealed: whoever writes to it ends the process.
    """

    def __init__(self, bundle: Bundle, writable: bool = True, sealed: bool = False):
        self.bundle = bundle
        flags = os.O_RDWR if writable else os.O_RDONLY
        descriptor = os.open(bundle.file, flags)
        try:
            if os.fstat(descriptor).st_size < bundle.size:
                raise ValueError(f"{bundle.file} is shorter than the {bundle.size} bytes that it should hold")
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_COPY
            access = mmap.ACCESS_READ if sealed else access
            self.memory = mmap.mmap(descriptor, max(bundle.size, 1), access=access)
        finally:
            os.close(descriptor)

    def bytes_of(self, index: int) -> torch.Tensor:
        """uint8 view of one storage, (nbytes,), without its guard zones."""
        span = self.bundle.spans[index]
        return self._view(span.offset, span.nbytes)

    def within(self, index: int) -> torch.Tensor:
        """The same bytes as a slice of one tensor over the whole file: a storage that is larger than its content."""
        span = self.bundle.spans[index]
        return self._view(0, self.bundle.size)[span.offset : span.offset + span.nbytes]

    def guarded(self, index: int) -> torch.Tensor:
        """uint8 view of one storage and the guard zones on either side of it."""
        span = self.bundle.spans[index]
        return self._view(span.offset - GUARD_BYTES, span.nbytes + 2 * GUARD_BYTES)

    def guards(self) -> Iterator[tuple[int, str, torch.Tensor]]:
        """(storage index, "before" or "after", uint8 view of the guard zone)."""
        for index, span in enumerate(self.bundle.spans):
            yield index, "before", self._view(span.offset - GUARD_BYTES, GUARD_BYTES)
            yield index, "after", self._view(span.offset + span.nbytes, GUARD_BYTES)

    def _view(self, offset: int, nbytes: int) -> torch.Tensor:
        if nbytes == 0:
            return torch.empty(0, dtype=torch.uint8)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The given buffer is not writable")  # it is sealed
            return torch.frombuffer(self.memory, dtype=torch.uint8, count=nbytes, offset=offset)


def save(value, file: Path) -> Bundle:
    """Lay ``value`` out in a new ``file``. Raises UnsupportedValue for anything but tensors, scalars and containers."""
    storages = _by_storage(value)
    origins, spans, sources = {}, [], []
    offset = ALIGNMENT
    for index, (key, tensors) in enumerate(storages.items()):
        start, stop = _extent(tensors)
        origins[key] = (index, start)
        spans.append(Span(offset, stop - start, str(tensors[0].device)))
        sources.append((tensors[0], start))
        offset += _round_up(stop - start + 2 * GUARD_BYTES, ALIGNMENT)
    bundle = Bundle(_tree(value, origins), tuple(spans), str(file), offset)
    with open(file, "xb") as handle:
        handle.truncate(offset)
    mapping = Mapping(bundle)
    for index, (tensor, start) in enumerate(sources):
        nbytes = spans[index].nbytes
        if nbytes:
            mapping.bytes_of(index).copy_(storage_bytes(tensor, start, nbytes))
    for index, _, guard in mapping.guards():
        guard.copy_(guard_pattern(index))
    return bundle


def guard_pattern(index: int) -> torch.Tensor:
    """What a guard zone of storage ``index`` holds: uint8 (GUARD_BYTES,)."""
    pattern = torch.full((GUARD_BYTES,), GUARD_BYTE, dtype=torch.uint8)
    pattern[::2] -= index % GUARD_KINDS
    return pattern


def rebuild(tree: dict, storage: Callable[[int], torch.Tensor], device: str | None = None):
    """The value that ``tree`` describes over ``storage(index)``, a uint8 tensor (nbytes,) for each storage."""
    kind = tree["kind"]
    if kind == "tensor":
        flat = storage(tree["storage"])
        dtype = dtype_named(tree["dtype"])
        tensor = torch.empty(0, dtype=dtype, device=flat.device)
        tensor.set_(flat.untyped_storage(), flat.storage_offset() // dtype.itemsize + tree["offset"],
                    tree["shape"], tree["stride"])
        if tree.get("conjugate"):
            tensor = tensor.conj()
        if tree.get("negative"):
            tensor = torch._neg_view(tensor)
        return tensor.requires_grad_() if tree["requires_grad"] else tensor
    if kind in ("list", "tuple"):
        items = [rebuild(item, storage, device) for item in tree["items"]]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {key: rebuild(item, storage, device) for key, item in tree["items"].items()}
    if kind == "none":
        return None
    if kind == "dtype":
        return dtype_named(tree["value"])
    if kind == "float":
        return FLOAT_TEXT.get(tree["value"], tree["value"]) if isinstance(tree["value"], str) else float(tree["value"])
    return SCALARS[kind](tree["value"])


def tensors_of(tree: dict, path: str = "") -> Iterator[tuple[str, dict]]:
    """(path such as ``[0]['lse']``, node) of each tensor in ``tree``, in order."""
    if tree["kind"] == "tensor":
        yield path, tree
    for key, item in items_of(tree):
        yield from tensors_of(item, f"{path}[{key!r}]")


def largest(bundle: Bundle) -> float:
    """The largest magnitude among a bundle's floating tensors of more than 8 bits; 0 without any. Infinities, and what
    stands for them in masks, are left out."""
    mapping, found = Mapping(bundle, writable=False), 0.0
    for _, node in tensors_of(bundle.tree):
        x = rebuild(node, mapping.bytes_of).detach()
        if x.is_floating_point() and x.dtype.itemsize > 1 and x.numel():
            found = max(found, float(torch.where(x.abs() < MASKED, x, 0).abs().max()))
    return found


def items_of(tree: dict) -> Iterator[tuple[int | str, dict]]:
    """(index or key, subtree) of a container's items; nothing for anything else."""
    if tree["kind"] in ("list", "tuple"):
        yield from enumerate(tree["items"])
    elif tree["kind"] == "dict":
        yield from sorted(tree["items"].items())   # two dicts are the same whatever order they were filled in


def bytes_of_others(items: Sequence[dict], storage: int, but: Collection[int], size: int) -> torch.Tensor:
    """bool, (size,): which bytes of a storage hold elements of an input, and of none of those in ``but``."""
    marks = {False: torch.zeros(size, dtype=torch.bool), True: torch.zeros(size, dtype=torch.bool)}
    for index, node in enumerate(items):
        for _, tensor in tensors_of(node):
            if tensor["storage"] == storage:
                itemsize = dtype_named(tensor["dtype"]).itemsize
                shape, stride = (*tensor["shape"], itemsize), (*(s * itemsize for s in tensor["stride"]), 1)
                offset = tensor["offset"] * itemsize
                marks[index in but].as_strided(shape, stride, offset).fill_(True)
    return marks[False] & ~marks[True]


def outline(tree: dict) -> str:
    """The structure as text, without sizes: ``(tensor, {'lse': tensor})``."""
    if tree["kind"] in ("list", "tuple"):
        return "(" + ", ".join(outline(item) for item in tree["items"]) + ")"
    if tree["kind"] == "dict":
        return "{" + ", ".join(f"{key!r}: {outline(item)}" for key, item in items_of(tree)) + "}"
    return {"none": "None", "tensor": "tensor"}.get(tree["kind"], tree["kind"])


def describe(node: dict) -> str:
    """``float16[128, 512]`` for a tensor node."""
    return f"{node['dtype']}{node['shape']}"


def dtype_named(name: str) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{name!r} is no torch dtype")
    return dtype


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def flat_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """uint8 (nbytes,): the elements in order. A mode of size one may have any stride, which contiguous() keeps."""
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return flat.as_strided((flat.numel(),), (1,)).view(torch.uint8)


def storage_bytes(tensor: torch.Tensor, start: int, nbytes: int) -> torch.Tensor:
    """uint8 view (nbytes,) of a tensor's storage from byte ``start`` on, on the tensor's device."""
    view = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return view.set_(tensor.detach().untyped_storage(), start, (nbytes,), (1,))


def extent(tensor: torch.Tensor) -> tuple[int, int]:
    """First and one-past-last byte of the storage that ``tensor`` reaches; equal when it is empty."""
    if tensor.numel() == 0:
        return 0, 0
    first = last = tensor.storage_offset()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        last += (size - 1) * stride
    return first * tensor.element_size(), (last + 1) * tensor.element_size()


def _tree(value, origins: dict) -> dict:
    if isinstance(value, torch.Tensor):
        index, start = origins[_storage_key(value)]
        offset = value.storage_offset() - start // value.element_size() if value.numel() else 0
        return {"kind": "tensor", "dtype": dtype_name(value.dtype), "shape": list(value.shape),
                "stride": list(value.stride()), "storage": index, "offset": offset, "device": str(value.device),
                "requires_grad": value.requires_grad and value.is_leaf,
                **({"conjugate": True} if value.is_conj() else {}), **({"negative": True} if value.is_neg() else {})}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {"kind": kind, "items": [_tree(item, origins) for item in value]}
    if isinstance(value, dict):
        return {"kind": "dict", "items": {str(key): _tree(item, origins) for key, item in value.items()}}
    if value is None:
        return {"kind": "none"}
    if isinstance(value, torch.dtype):
        return {"kind": "dtype", "value": dtype_name(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"kind": "float", "value": str(value)}
    return {"kind": type(value).__name__, "value": value}   # bool, int, float, str: _visit let nothing else through


def _visit(value, on_tensor: Callable[[torch.Tensor], None]) -> None:
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_quantized:
            raise UnsupportedValue(f"a {value.layout} tensor; only dense (strided) tensors are supported")
        on_tensor(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _visit(item, on_tensor)
    elif isinstance(value, dict):
        for item in value.values():
            _visit(item, on_tensor)
    elif value is not None and type(value) not in SCALARS.values() and not isinstance(value, torch.dtype):
        raise UnsupportedValue(f"a {type(value).__module__}.{type(value).__name__}; pass tensors, numbers, strings, "
                               "torch dtypes, None, or lists, tuples and dicts of these")


def reached_bytes(value) -> int:
    """What ``save`` would copy: of every storage, from the first byte that a tensor reaches to the last."""
    return sum(stop - start for start, stop in map(_extent, _by_storage(value).values()))


def _by_storage(value) -> dict[tuple, list[torch.Tensor]]:
    storages: dict[tuple, list[torch.Tensor]] = {}
    _visit(value, lambda tensor: storages.setdefault(_storage_key(tensor), []).append(tensor))
    return storages


def _storage_key(tensor: torch.Tensor) -> tuple:
    # An empty tensor has no memory to share; its id keeps it apart from every other.
    pointer = tensor.untyped_storage().data_ptr() if tensor.numel() else id(tensor)
    return str(tensor.device), pointer, tensor.numel() == 0


def _extent(tensors: list[torch.Tensor]) -> tuple[int, int]:
    spans = [extent(tensor) for tensor in tensors]
    # A view of another element size must stay aligned to it; 16 covers every dtype, and the storage starts at 0.
    return min(start for start, _ in spans) // 16 * 16, max(stop for _, stop in spans)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
