"""The inputs of timed calls: several sets in rotation, overwritten in place with new values between calls (torch).

A call must neither find its operands in the L2 nor be able to remember its answer. So the sets rotate, and one call of
every burst, picked by the judge, gets values that the process has never seen, written into the storage it knows.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch

from .. import values
from ..contract import ContractError, KernelFile, author_traceback
from .seeding import reseeded

L2_COVER = 3     # sets rotate over this many times the L2: no line of a set survives until its next use
MOST_SETS = 32   # beyond this, drawing inputs costs more than flushing
BURST_CALLS = 12     # unless they are long, or many launches each
LAUNCH_QUEUE = 900   # the driver takes about a thousand launches ahead of the device, then it blocks the host
OWN_LAUNCHES = 12    # markers, events and fingerprints around one call
BURSTS = 72          # that a case's budget must pay for: 24 rounds of three contenders
INTEGER_OF_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Rotation:
    """How calls are kept from finding their operands in the L2."""

    sets: int
    flush: bool
    reason: str


def plan_rotation(set_bytes: int, l2_bytes: int, room_bytes: int, mutates: bool = False,
                  flushes: bool = True) -> Rotation:
    """Enough sets that L2_COVER times the L2 passes between two uses of one, else a flush before every call.

    mutates: the inputs are put back before each call, which would leave them in the L2. flushes: the device can flush.
    """
    wanted = max(2, math.ceil(L2_COVER * l2_bytes / max(set_bytes, 1)) + 1)
    room = max(1, int(room_bytes // max(set_bytes, 1)))
    if wanted <= min(MOST_SETS, room) and not mutates:
        return Rotation(wanted, False, f"cold L2 by rotation over {wanted} input sets")
    sets = max(1, min(8, room, wanted))
    if not flushes:
        return Rotation(sets, False, f"{sets} input sets in rotation, and no flush: a CPU's caches may be warm")
    why = "inputs that the kernel changes are put back first" if mutates else \
        "small inputs never fill it" if wanted > MOST_SETS else "memory holds no more sets"
    return Rotation(sets, True, f"cold L2 by a flush before every call, {sets} input set{'s' * (sets > 1)}: {why}")


def burst_calls(launches: int, output_bytes: int, room_bytes: int, call_us: float, budget_s: float) -> int:
    """How many calls a burst takes: what the launch queue, the memory for their outputs and the budget allow."""
    affordable = budget_s * 1e6 / BURSTS / max(1.0, call_us)
    return int(max(2, min(BURST_CALLS, LAUNCH_QUEUE // (launches + OWN_LAUNCHES), room_bytes // max(1, output_bytes),
                          affordable)))


def draw(get_inputs: Callable[..., list], keywords: dict, seed: int) -> list:
    """One set of inputs, the same for the same seed in every process."""
    with reseeded(seed):
        return list(get_inputs(**keywords))


def ignores_seed(get_inputs: Callable[..., list], keywords: dict) -> bool:
    """Whether two seeds give the same inputs, so that ``draw`` alone would never bring new values."""
    one, other = draw(get_inputs, keywords, 1), draw(get_inputs, keywords, 2)
    return all(_same_values(a, b) for a, b in zip(one, other, strict=True))


def scaled(inputs: list, seed: int) -> list:
    """The inputs with every floating tensor scaled by ``scale_factor(seed)``."""
    factor = scale_factor(seed)
    return [_scaled(x, factor) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]


def _scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    """A copy of x in memory of its own, with its strides and its place within 16 bytes, multiplied by ``factor``."""
    if not x.numel():
        return x
    start, stop = values.extent(x)
    start = start // 16 * 16
    memory = values.storage_bytes(x, start, stop - start).clone()
    offset = x.storage_offset() - start // x.element_size()
    copy = torch.empty(0, dtype=x.dtype, device=x.device).set_(memory.untyped_storage(), offset, x.shape, x.stride())
    scale(copy, factor)
    return copy.requires_grad_(x.requires_grad)


def scale(x: torch.Tensor, factor: float) -> None:
    """Multiply a tensor of any floating dtype in place; PyTorch multiplies no 8-bit floats."""
    own = _distinct(x)
    if x.dtype not in values.PACKED:
        own.copy_((own.to(torch.float64 if x.dtype is torch.float64 else torch.float32) * factor).to(x.dtype))


def scale_factor(seed: int) -> float:
    """Between a half and one: what inputs rely on (order, signs, zeros, infinities, definiteness) survives it."""
    return random.Random(seed).uniform(0.5, 1.0)


def _same_values(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return a.shape == b.shape and torch.equal(_bits(a), _bits(b))
    return not isinstance(b, torch.Tensor) and a == b


class InputSets:
    """Sets of inputs with fixed storage. ``mutates``: indices that the kernel changes and that are put back."""

    def __init__(self, sets: list[list], mutates: Collection[int] = ()):
        self._sets = sets
        self._pristine = [{index: inputs[index].detach().clone() for index in mutates} for inputs in sets]

    def __len__(self) -> int:
        return len(self._sets)

    def __getitem__(self, index: int) -> list:
        return self._sets[index]

    def restore(self, index: int) -> None:
        """Put back what the kernel changed in set ``index``; enqueued on the current stream."""
        for position, original in self._pristine[index].items():
            self._sets[index][position].data.copy_(original)

    def overwrite(self, index: int, fresh: list) -> None:
        """New values in the storage of set ``index``, on the current stream; pointers and versions stay what they were.

        Where a shape depends on the values the set gets new storage.
        """
        inputs = self._sets[index]
        for position, value in enumerate(fresh):
            old = inputs[position]
            if isinstance(value, torch.Tensor) and isinstance(old, torch.Tensor) and old.shape == value.shape:
                _distinct(old).copy_(_distinct(value, like=old))
            else:
                inputs[position] = value
        self._pristine[index] = {position: fresh[position] for position in self._pristine[index]}


def _distinct(tensor: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """The elements of ``tensor`` that have a place of their own: one along every dimension that ``like`` expands."""
    view = tensor.data
    for dimension, stride in enumerate((tensor if like is None else like).stride()):
        if stride == 0 and view.shape[dimension] > 1:
            view = view.narrow(dimension, 0, 1)
    return view


def tensors_in(value) -> list[torch.Tensor]:
    """Every tensor of a result: a tensor, or nested tuples, lists and dicts of them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def tensor_bytes(value) -> int:
    """Bytes of every tensor in ``value``, each storage counted as often as it is named."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors_in(value))


def _count(kernel: KernelFile, name: str, inputs: list) -> float:
    """What the author's flops or bytes_moved says of ``inputs``."""
    try:
        count = float(getattr(kernel, name)(*inputs))
    except Exception as error:
        said = f"{kernel.path}: {name} must return a number for any case's inputs: {type(error).__name__}: {error}"
        raise ContractError(said, author_traceback(error, kernel.path)) from None
    if not (math.isfinite(count) and count >= 0):
        raise ContractError(f"{kernel.path}: {name} must return a number of zero or more, and returns {count}")
    return count


def product_dtype(tensors: list[torch.Tensor]) -> torch.dtype | None:
    """What a matrix product of these inputs is computed in: the narrowest dtype that two matrices have (int8 beside
    float32 scales), else the widest of all (8-bit weights are converted); None without numbers."""
    kinds = [t for t in tensors if t.is_floating_point() or t.dtype is torch.int8]
    matrices = Counter(t.dtype for t in kinds if t.dim() > 1)
    pairs = [dtype for dtype, count in matrices.items() if count > 1]
    if pairs:
        return min(pairs, key=lambda dtype: dtype.itemsize)
    return max((t.dtype for t in kinds), key=lambda dtype: dtype.itemsize, default=None)


def facts(kernel: KernelFile, inputs: list, result) -> dict:
    """Sizes and the author's own counts; both are evaluated on real inputs, so that ragged cases come out right."""
    input_bytes, output_bytes = tensor_bytes(inputs), tensor_bytes(result)
    computed_in = product_dtype(tensors_in(inputs))
    on_gpu = torch.cuda.is_available()
    return {"input_bytes": input_bytes, "output_bytes": output_bytes,
            "bytes_moved": (int(_count(kernel, "bytes_moved", inputs)) if kernel.bytes_moved
                            else input_bytes + output_bytes),
            "bytes_are_counted": kernel.bytes_moved is not None,
            "flops": _count(kernel, "flops", inputs) if kernel.flops else None,
            "dtype": values.dtype_name(computed_in) if computed_in else None,
            "sm_count": torch.cuda.get_device_properties(0).multi_processor_count if on_gpu else 0,
            "shapes": [f"{values.dtype_name(x.dtype)}{list(x.shape)}" if isinstance(x, torch.Tensor) else repr(x)
                       for x in inputs]}


def load(bundle: dict) -> list:
    """The inputs in ``bundle``, in memory of their own on their device."""
    mapping = values.Mapping(values.Bundle.from_json(bundle), writable=False)
    return values.rebuild(mapping.bundle.tree,
                          lambda index: mapping.bytes_of(index).to(mapping.bundle.spans[index].device, copy=True))


def fingerprint(tensors: list[torch.Tensor]) -> torch.Tensor | None:
    """int64 (number of tensors,): the sum of each tensor's bits, enqueued without waiting; None for no tensors."""
    sums = [torch.sum(_bits(tensor), dtype=torch.int64) for tensor in tensors if tensor.numel()]
    return torch.stack(sums) if sums else None


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    plain = tensor.detach().resolve_neg()
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj())
    return plain.view(INTEGER_OF_SIZE[plain.element_size()])
