"""Device timestamps of every kernel, copy and memset, from CUPTI's activity records (standard library only).

libcupti comes with every CUDA build of torch, so nothing is installed. The records are read by byte offset:
the head of each structure (up to the fields used here) has kept its layout from CUDA 11 to 13, and `timing`
proves the reading on a kernel of its own before it trusts it.
"""

from __future__ import annotations

import ctypes
import glob
import os
import struct
import sys
from dataclasses import dataclass
from typing import ClassVar

MEMCPY, MEMSET, CONCURRENT_KERNEL = 1, 2, 10  # CUpti_ActivityKind
BUFFER_BYTES = 4 << 20  # about 20,000 records
MAX_LIMIT_REACHED = 12  # CUPTI_ERROR_MAX_LIMIT_REACHED: no further record in this buffer
FLUSH_FORCED = 1


class CuptiUnavailable(RuntimeError):
    """CUPTI cannot be used here; the message is the reason."""


@dataclass(frozen=True)
class Activity:
    """One piece of device work. `correlation` grows with the order in which the host issued the work."""

    kind: int
    name: str
    start_ns: int
    end_ns: int
    stream: int
    correlation: int
    shape: tuple[int, ...] = ()  # (grid x, y, z, block x, y, z) of a kernel; (value, bytes) of a memset
    registers: int = 0
    shared_bytes: int = 0


def _library_path() -> str:
    """The libcupti that torch has loaded, or the one that belongs beside it."""
    with open("/proc/self/maps") as maps:
        loaded = [line.split()[-1] for line in maps if "libcupti.so" in line]
    if loaded:
        return loaded[0]
    roots = [os.path.join(root, "nvidia", "*", "lib") for root in sys.path]
    roots += ["/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64"]
    found = [path for root in roots for path in sorted(glob.glob(os.path.join(root, "libcupti.so*")))]
    if not found:
        raise CuptiUnavailable("no libcupti.so was found: pip install nvidia-cuda-cupti")
    return found[-1]


class Cupti:
    """Records device activity while it is on, and hands it over on request. One per process."""

    _alive: ClassVar[list[Cupti]] = []   # CUPTI calls back until the process ends, so what it calls must not be freed

    def __init__(self):
        Cupti._alive.append(self)
        try:
            self._library = ctypes.CDLL(_library_path())
        except OSError as error:
            raise CuptiUnavailable(f"libcupti cannot be loaded ({error})") from error
        self._free: list[ctypes.Array] = [self._new_buffer() for _ in range(4)]
        self._lent: dict[int, ctypes.Array] = {}
        self._filled: list[tuple[int, int]] = []
        self._requested = ctypes.CFUNCTYPE(
            None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t),
            ctypes.POINTER(ctypes.c_size_t)
        )(self._on_requested)
        self._completed = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
        )(self._on_completed)
        self._call("cuptiActivityRegisterCallbacks", self._requested, self._completed)

    @staticmethod
    def _new_buffer() -> ctypes.Array:
        return ctypes.create_string_buffer(BUFFER_BYTES)

    def _call(self, name: str, *arguments) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._library.cuptiGetResultString(code, ctypes.byref(text))
            reason = text.value.decode() if text.value else f"error {code}"
            raise CuptiUnavailable(f"{name} answered {reason}")

    def _on_requested(self, buffer, size, max_records) -> None:
        memory = self._free.pop() if self._free else self._new_buffer()
        address = ctypes.addressof(memory)
        self._lent[address] = memory
        buffer[0], size[0], max_records[0] = address, BUFFER_BYTES, 0

    def _on_completed(self, _context, _stream, buffer, _size, valid) -> None:
        self._filled.append((buffer, valid))

    def record(self, on: bool) -> None:
        """Switch recording on or off: that takes milliseconds, and while it is on each launch costs a little more."""
        for kind in (CONCURRENT_KERNEL, MEMCPY, MEMSET):
            self._call("cuptiActivityEnable" if on else "cuptiActivityDisable", kind)

    def collect(self) -> list[Activity]:
        """The activities since the last collection, in the order the host issued them. Synchronize before calling."""
        self._call("cuptiActivityFlushAll", FLUSH_FORCED)
        activities = []
        for address, valid in self._filled:
            activities += self._parse(address, valid)
            self._free.append(self._lent.pop(address))
        self._filled.clear()
        return sorted(activities, key=lambda activity: (activity.correlation, activity.start_ns))

    def _parse(self, address: int, valid: int):
        record = ctypes.c_void_p()
        while True:
            code = self._library.cuptiActivityGetNextRecord(
                ctypes.c_void_p(address), ctypes.c_size_t(valid), ctypes.byref(record)
            )
            if code == MAX_LIMIT_REACHED:
                return
            if code:
                raise CuptiUnavailable(f"cuptiActivityGetNextRecord answered error {code}")
            activity = _decode(record.value)
            if activity is not None:
                yield activity


def _decode(address: int) -> Activity | None:
    """An Activity from the head of a record at `address`; None for kinds that are not timed."""
    kind = ctypes.c_uint32.from_address(address).value
    if kind == CONCURRENT_KERNEL:
        head = ctypes.string_at(address, 112)
        start, end = struct.unpack_from("<QQ", head, 16)
        stream, *shape = struct.unpack_from("<I6i", head, 48)
        static_bytes, dynamic_bytes = struct.unpack_from("<ii", head, 76)
        correlation, _grid, name = struct.unpack_from("<IqQ", head, 92)
        text = ctypes.string_at(name).decode(errors="replace") if name else "?"
        registers = struct.unpack_from("<H", head, 6)[0]
        return Activity(
            kind, text, start, end, stream, correlation, tuple(shape), registers, static_bytes + dynamic_bytes
        )
    if kind in (MEMCPY, MEMSET):
        head = ctypes.string_at(address, 48)
        value, size, start, end = struct.unpack_from("<IQQQ", head, 4)
        stream, correlation = struct.unpack_from("<II", head, 40)
        if kind == MEMCPY:
            return Activity(kind, "[copy]", start, end, stream, correlation, (size,))
        return Activity(kind, "[memset]", start, end, stream, correlation, (value, size))
    return None
