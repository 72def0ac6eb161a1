"""Calls in a row in the same memory, with new values between them and nothing else; and what is made of each result."""

from __future__ import annotations

import contextlib
import gc
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from .. import values
from ..contract import KernelFile
from ..outputs import distance, leaves, places, result_problem, settled
from .fingerprint import Pending, fingerprint
from .poison import poison_next
from .slots import Slot, alias, disguise, fill_device

WARM = 4  # calls that come before one, each waited for
BURST, BURST_SECONDS = 512, 0.1  # calls that come before one as those of a timed loop do, until when
clock = time.perf_counter  # bound before the kernel file is imported, as all that is called here


def alternate(file: KernelFile, around: Callable, entry: Slot, bundles: list[dict], outputs: list[str], count: int,
              seconds: list[float], callers: Sequence[tuple]) -> dict:
    """Call kernel_fn ``count`` times in the memory of ``entry``, on the values of the two bundles in turn.

    Nothing is between calls but the new values; guard zones hold data, unlooked at. A result unlike the earlier ones of
    its values goes to the next of ``outputs``. ``reused``: the call whose result lies in the memory of one of the first
    two, which are held, or 0. seconds: when to end early; until when ``count`` calls of equal results are gone beyond.
    callers: ways of calling.
    """
    with _uncollected():
        return _alternate(file, around, entry, _sources(entry, bundles), outputs, count, seconds, callers)


def soon(file: KernelFile, around: Callable, entry: Slot, bundles: list[dict], output: str, timed: bool) -> dict:
    """Calls on the values of the second bundle, then one on the first's as soon as these are there, whose result goes
    to ``output``. timed: WARM of them, the GPU waited for in each, and ``seconds`` that each call took; else so many
    as a timed loop makes, with nothing between them but the values."""
    mine, others = _sources(entry, bundles)
    taken = []
    with _uncollected(), around():
        begun = clock()
        for call_index in range(WARM if timed else BURST):
            if call_index >= WARM and clock() - begun > BURST_SECONDS:
                break
            _fill(entry, others)
            started = clock()
            result = file.kernel_fn(*entry.inputs)
            if entry.blocks and timed:
                torch.cuda.synchronize()
            taken.append(clock() - started)
        _fill(entry, mine)
        started = clock()
        result = file.kernel_fn(*entry.inputs)
        taken.append(clock() - started)
    return result_problem(result) or {"bundle": save(file, entry, result, output), "seconds": taken}


def _alternate(file, around, entry, sources, outputs, count, seconds, callers) -> dict:
    disguise(entry)
    poison_next([], "nan", device(entry))  # what was written to memory stays when it is given back
    seen, found, started, firsts, farthest, reused = ([], []), [], clock(), {}, -1.0, 0
    for call_index in itertools.count():
        which = call_index % 2
        caller, call_as = callers[call_index % len(callers)]
        _fill(entry, sources[which])
        result = None  # its memory is what the next one gets
        with around():
            result = call_as(file.kernel_fn, entry.inputs)
        if len(firsts) == 2 and not reused and (places(firsts[0]) ^ places(firsts[1])) & places(result):
            reused = call_index + 1  # what both of the first have is a constant that the file hands out
        now = prints(result)
        if outputs and not any(now == old for old in seen[which]):
            if problem := result_problem(result):
                return problem
            seen[which].append(now)
            far = distance(result, firsts.setdefault(which, settled(result)) if not file.mutates else result)
            if len(found) < len(outputs) - 1 or far > farthest:
                # The last place goes to whatever is farthest from the first result of its values.
                if len(found) == len(outputs):
                    Path(outputs[-1]).unlink()
                    found.pop()
                farthest = max(farthest, far) if len(found) == len(outputs) - 1 else farthest
                place = {"values": which, "call": call_index + 1, "by": caller and f", as {caller} calls"}
                found.append({**place, "bundle": save(file, entry, result, outputs[len(found)])})
        more = call_index >= count - 1
        if call_index >= 3 and (clock() - started > seconds[more] or (more and max(map(len, seen)) > 1)):
            break
    if entry.blocks:
        torch.cuda.synchronize()
    return {"found": found, "calls": call_index + 1, "distinct": [len(s) for s in seen], "reused": reused}


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """As timeit has it, so that a loop that is timed can be told by it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _sources(entry: Slot, bundles: list[dict]) -> list[dict]:
    found = [values.Mapping(values.Bundle.from_json(bundle), writable=False) for bundle in bundles]
    if not entry.blocks:
        return [{i: s.bytes_of(i).clone() for i in entry.storages} for s in found]
    fill_device(entry)
    return [{i: s.bytes_of(i).to(entry.storages[i].device) for i in entry.storages} for s in found]


def _fill(entry: Slot, data: dict) -> None:
    """New values in the memory of the inputs, as operations of PyTorch write them: a version more."""
    for index, source in data.items():
        # Beside blocks on the GPU there may be scalars of no dimension on the CPU.
        (alias(entry, index) if index in entry.blocks else entry.storages[index]).copy_(source)
    for tensor in leaves(entry.inputs):
        torch.autograd.graph.increment_version(tensor)


def device(entry: Slot) -> str:
    return next((str(block.device) for block in entry.blocks.values()), "cpu")


def prints(result, snapshot: bool = False) -> list[tuple]:
    """Fingerprints of the result's tensors, computed where they are, in stream order."""
    with torch.no_grad():
        pending = [fingerprint(t, snapshot) for t in leaves(result) if t.layout is torch.strided]
    return pending if not any(t.is_cuda for t in leaves(result)) else Pending(pending)


def save(file: KernelFile, entry: Slot, result, output: str) -> dict:
    mutated = {str(i): settled(entry.inputs[i]) for i in sorted(file.mutates) if i < len(entry.inputs)}
    return values.save({"result": settled(result), "mutated": mutated}, Path(output)).to_json()
