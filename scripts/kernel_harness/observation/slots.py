"""Inputs in the candidate's memory: files that the judge maps too (CPU), or guarded GPU blocks filled from them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from .. import values
from ..outputs import leaves
from .poison import PATTERNS

SLOW_PRODUCER_CYCLES = 20_000_000  # about 10 ms of GPU time in front of the kernel
POOL_STREAMS = 32  # of each priority; torch.cuda.Stream hands them out in turn (c10/cuda/CUDAStream.cpp)


@dataclass
class Slot:
    """Inputs in memory, and the last result computed from them."""

    source: values.Mapping
    inputs: list
    storages: dict[int, torch.Tensor] = field(default_factory=dict)
    blocks: dict[int, torch.Tensor] = field(default_factory=dict)  # on the GPU: storages with their guard zones


SLOTS: dict[str, Slot] = {}


def prepare(bundle: dict, name: str, refresh: str, device: str | None, embed: bool = False) -> Slot:
    if refresh in ("", "sealed", "plain"):
        source = values.Mapping(values.Bundle.from_json(bundle), sealed=refresh == "sealed")
        entry = Slot(source, [])

        def storage(index: int) -> torch.Tensor:
            if index not in entry.storages:
                place = device or source.bundle.spans[index].device
                nbytes = source.bundle.spans[index].nbytes
                if refresh == "plain":
                    entry.storages[index] = source.bytes_of(index).clone()
                    return entry.storages[index]
                if place != "cpu":
                    entry.blocks[index] = _guarded_block(index, nbytes, place)
                if embed:
                    entry.storages[index] = source.within(index) if place == "cpu" else alias(entry, index)
                else:
                    entry.storages[index] = (
                        source.bytes_of(index) if place == "cpu" else _inside(entry.blocks[index], nbytes)
                    )
            return entry.storages[index]

        entry.inputs = values.rebuild(bundle["tree"], storage)
        if entry.blocks:  # streams, waiting and captures are the current device's
            torch.cuda.set_device(next(iter(entry.blocks.values())).device)
        SLOTS[name] = entry
        return entry
    entry = SLOTS[name]
    if refresh == "bumped":
        for tensor in leaves(entry.inputs):
            torch.autograd.graph.increment_version(tensor)
    return entry


def _guarded_block(index: int, nbytes: int, device: str) -> torch.Tensor:
    block = torch.full((nbytes + 2 * values.GUARD_BYTES,), values.GUARD_BYTE, dtype=torch.uint8, device=device)
    pattern = values.guard_pattern(index).to(device)
    block[: values.GUARD_BYTES], block[-values.GUARD_BYTES :] = pattern, pattern
    return block


def _inside(block: torch.Tensor, nbytes: int) -> torch.Tensor:
    """uint8 tensor (nbytes,) between the guard zones of ``block``; its own storage ends where it ends.

    A kernel may keep an input for as long as it likes, so the storage keeps the block alive.
    """
    if nbytes == 0:
        return torch.empty(0, dtype=torch.uint8, device=block.device)
    storage = torch._C._construct_storage_from_data_pointer(block.data_ptr() + values.GUARD_BYTES, block.device, nbytes)
    storage.owner = block  # PyTorch keeps a storage's Python object as long as any tensor uses the storage
    return torch.empty(0, dtype=torch.uint8, device=block.device).set_(storage, 0, (nbytes,), (1,))


def fill_device(entry: Slot, late: bool = False) -> None:
    """Bring the values of the slot's file into its GPU tensors, on the current stream, under their version counters."""
    staged = {}
    for index, block in entry.blocks.items():
        staged[index] = entry.source.bytes_of(index).to(block.device)
        if late:
            alias(entry, index).fill_(PATTERNS["nan"])
    if late:
        _hold_other_streams()
        torch.cuda._sleep(SLOW_PRODUCER_CYCLES)
    for index, data in staged.items():
        alias(entry, index).copy_(data)
        if data.is_cuda:
            data.record_stream(torch.cuda.current_stream())


def filled(entry: Slot) -> list:
    """The slot's inputs, with their values."""
    fill_device(entry)
    return entry.inputs


@contextlib.contextmanager
def on_stream(kind: str):
    """A call's stream: "default" gives None, all else a new one that waits for the current one."""
    if kind == "default":
        yield None
        return
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        yield side


def _hold_other_streams() -> None:
    """Keep the streams that PyTorch hands out busy for longer than the inputs take to arrive: work that kernel_fn puts
    there is late then, and a result that does not wait for it is read before."""
    current = torch.cuda.current_stream()
    for priority in (0, -1):
        for _ in range(POOL_STREAMS):  # a whole round, so that kernel_fn is given the streams it would have been given
            stream = torch.cuda.Stream(priority=priority)
            if stream != current:
                with torch.cuda.stream(stream):
                    torch.cuda._sleep(2 * SLOW_PRODUCER_CYCLES)


def read_back(entry: Slot) -> None:
    """Copy GPU inputs and their guard zones to the slot's file, where the judge looks at them."""
    for index, block in entry.blocks.items():
        entry.source.guarded(index).copy_(block)


def lend(lender: Slot, entry: Slot, positions: Sequence[int]) -> None:
    """Puts the inputs at ``positions`` of ``lender``, with the values of its file, in place of those of ``entry``."""
    fill_device(lender)
    for at in positions:
        entry.inputs[at] = lender.inputs[at]
        for tensor in leaves(lender.inputs[at]):
            torch.autograd.graph.increment_version(tensor)


def disguise(entry: Slot) -> None:
    """Let guard zones hold what lies beside them: what a kernel reads there no longer says that it is watched."""
    for index in entry.storages:
        guarded = entry.blocks[index] if index in entry.blocks else entry.source.guarded(index)
        inside = guarded[values.GUARD_BYTES : -values.GUARD_BYTES]
        if inside.numel():
            data = inside[: values.GUARD_BYTES].repeat(-(-values.GUARD_BYTES // inside.numel()))[: values.GUARD_BYTES]
            guarded[: values.GUARD_BYTES], guarded[-values.GUARD_BYTES :] = data, data


def alias(entry: Slot, index: int) -> torch.Tensor:
    """Another tensor over a slot's GPU memory: writing to it leaves the version counters of the slot's own alone."""
    return entry.blocks[index][values.GUARD_BYTES : entry.blocks[index].numel() - values.GUARD_BYTES]
