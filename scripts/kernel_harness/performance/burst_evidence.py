"""What the process that made the calls can see of them: outputs that change, repeat or share memory, clocks that were
replaced (torch). Judging it is `evidence`'s business, in another process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import torch

from ..inputs import input_sets
from .timing import Burst

CLOCKS = ((torch.cuda, "synchronize"), (torch.cuda, "Event"), (torch.cuda.Event, "record"),
          (torch.cuda.Event, "elapsed_time"), (torch.cuda.Event, "synchronize"), (torch.cuda.Stream, "synchronize"),
          (time, "perf_counter"), (time, "perf_counter_ns"), (time, "monotonic"), (time, "time"))


def clock_identities() -> dict[str, tuple]:
    """What stands behind every public clock; assigning ``f.__code__`` keeps the id, so the code counts as well."""
    found = {}
    for owner, name in CLOCKS:
        function = getattr(owner, name)
        found[f"{owner.__name__}.{name}"] = (id(function), id(getattr(function, "__code__", None)))
    return found


def patched(before: Mapping[str, tuple]) -> list[str]:
    """Names of the clocks that are not what they were."""
    return sorted(name for name, now in clock_identities().items() if now != before[name])


def prints_of(early: Sequence[torch.Tensor | None]) -> list[list[int] | None]:
    """Fingerprints as numbers; this waits for the device."""
    return [None if one is None else one.tolist() for one in early]


def changed_later(outputs: Sequence, prints: Sequence[list[int] | None], comparable: Sequence[int]) -> list[int]:
    """Which calls' outputs are not what they were when the call was over."""
    late = prints_of([input_sets.fingerprint(input_sets.tensors_in(outputs[index])) for index in comparable])
    return [index for index, now in zip(comparable, late, strict=True) if now != prints[index]]


def share_memory(outputs: Sequence[tuple]) -> bool:
    """Whether two calls returned the same memory while both results were alive.

    outputs: (result, inputs that the call is meant to change) of each call; such an input may be returned as well.
    """
    pointers = []
    for result, changed in outputs:
        own = {tensor.untyped_storage().data_ptr() for tensor in input_sets.tensors_in(changed)}
        pointers += {tensor.untyped_storage().data_ptr() for tensor in input_sets.tensors_in(result)
                     if tensor.numel()} - own
    return len(set(pointers)) < len(pointers)


def lazy_types(results: Sequence) -> list[str]:
    """Tensor subclasses among the results; they can put work off until they are read."""
    return sorted({type(tensor).__name__ for tensor in input_sets.tensors_in(list(results))
                   if type(tensor) not in (torch.Tensor, torch.nn.Parameter)})


def times_of(burst: Burst) -> dict:
    """The clocks' side of a burst, ready for JSON. Calls with equal launches share a launch id."""
    table: dict[tuple, int] = {}
    ids = [table.setdefault(tuple(sorted(call.launches.items())), len(table)) for call in burst.calls]
    return {"device_us": [call.device_us for call in burst.calls], "event_us": [call.event_us for call in burst.calls],
            "overhang_us": [call.overhang_us for call in burst.calls], "starved": burst.starved,
            "persisting_l2_bytes": burst.persisting_l2_bytes, "streams": max(call.streams for call in burst.calls),
            "launches": [sum(call.launches.values()) for call in burst.calls], "launch_ids": ids}
