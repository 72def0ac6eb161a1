"""Kernel files on machines without a GPU: their own code runs with simulated launches (numpy)."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable

from .compiled import cubin, ptx

# In order of preference; what a file does not name in ARCHS is not simulated.
ARCHS = ("sm_90a", "sm_80", "sm_90", "sm_100a", "sm_120a")
INPUT_BYTES = 640 * 2**10  # of a case, at most: simulated time grows with the data touched


def possible() -> str:
    """Why nothing can be simulated here, or ""."""
    from importlib.util import find_spec

    return "" if find_spec("numpy") else "the simulator needs numpy: pip install numpy"


def contexts(arch: str, multiprocessors: int | None = None, folder: str | None = None) -> Callable:
    """A factory of contexts in which torch claims a CUDA device and launches run in the simulator.

    multiprocessors: as many as that device claims to have, those of an H100 or H200 by default. folder: the caller's,
    for what the DSL writes.
    Call it before anything imports cutlass: the DSL reads its target when it is imported.
    """
    from .simulator import driver

    driver.prepare(arch, folder)
    # One for the process: what was compiled for a device launches on it ever after.
    device = driver.SimulatedDevice(registers_of=_registers, multiprocessors=multiprocessors)

    @contextlib.contextmanager
    def context():
        device.launches.clear()
        with device:
            yield device

    return context


def refuse_extensions() -> None:
    """Without a GPU, and without the simulator, the CUDA extensions of a file say so when they are called: its import
    goes on, until its inputs ask for the simulator."""
    import torch

    if not torch.cuda.is_available():
        from .compiled import cuda_extension, import_hook

        import_hook.after_import(cuda_extension.MODULE, cuda_extension.refuse)


@contextlib.contextmanager
def launching(device, how: str, inputs: list, mutates: frozenset):
    """Launches on the simulated device, if there is one, do nothing ("idle"), or nothing new ("familiar"), or
    start their last CTAs first ("turned"), and change no input but those of the indices ``mutates``."""
    if device is None:
        yield
        return
    changing = _storages([value for index, value in enumerate(inputs) if index in mutates])
    device.read_only = _storages(inputs) - changing
    if how:
        setattr(device, how, True)
    device.streams.begin()
    try:
        yield
        device.streams.end()
    finally:
        device.read_only = set()
        if how:
            setattr(device, how, False)


def many_calls(around: Callable, function: Callable, inputs: list, mutates: frozenset, count: int, seconds: float):
    """Calls of which no launch is made that has been made before: (their number, [(number, result) of those that
    launched nothing but what is new], was the last result in the memory of an earlier one?). All results are held.
    What changes its inputs has no such results: each would be of the inputs that the one before left."""
    from .outputs import places, settled

    held, new, taken, alike, until = [], [], set(), set(), time.monotonic() + seconds
    for index in range(1, count + 1):
        with around() as device, launching(device, "familiar", inputs, mutates):
            device.left_out = 0
            held.append(settled(function(*inputs)))  # views: a pool may ask whether the object itself is gone
            is_new = bool(device.launches) and not device.left_out and not mutates
        here = places(held[-1])
        if index == 2:
            alike = taken & here  # a constant that the file hands out
        if taken & here - alike:
            return index, new, True
        taken |= here
        new += [(index, held[-1])] * is_new
        if time.monotonic() > until:
            break
    return index, new, False


def _storages(inputs: list) -> set[int]:
    from .outputs import leaves

    return {tensor.untyped_storage().data_ptr() for tensor in leaves(inputs)}


def _registers(image: bytes, kernel: str) -> int | None:
    """Registers per thread that the compiler gave a kernel of this cubin, None where it cannot be read."""
    try:
        return cubin.read(image)[kernel].registers
    except (cubin.CubinError, KeyError):
        return None


_digest = functools.cache(ptx.digest)


def facts(device) -> dict | None:
    """Launches and findings of one call, None when nothing was simulated."""
    if device is None:
        return None
    kinds = {}
    for finding in device.findings:
        kinds.setdefault(finding.kind, []).append(str(finding))
    first = [same[0] for same in kinds.values()]  # of each kind: a barrier that some threads miss explains a race
    others = [text for same in kinds.values() for text in same[1:]]
    return {
        "launches": len(device.launches),
        "findings": [*first, *others][:20],
        "kinds": len(kinds),
        "takes_turns": any(report.takes_turns for report in device.launches),
        "code": sorted({_digest(text) for text in device.modules}),  # of this process, until now
    }


# What PyTorch says of streams, events and graphs where it was built without CUDA.
_NOT_IN_THIS_PYTORCH = ("Tried to instantiate dummy base class", "requires CUDA support")


def cannot(error: BaseException) -> bool:
    """Does this say that there is no GPU to run something on (and nothing about the kernel)?"""
    if isinstance(error, RuntimeError) and any(text in str(error) for text in _NOT_IN_THIS_PYTORCH):
        return True
    ours = [kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith("kernel_harness")]
    return not {"UnsupportedInstruction", "SimulationError", "HostCodeError"}.isdisjoint(ours)
