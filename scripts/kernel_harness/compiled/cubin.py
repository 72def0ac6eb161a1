"""What a cubin says of its kernels without a disassembler: registers, stack, shared memory, CTA size, parameters.

Reads the ELF sections .text.<kernel>, .nv.shared.<kernel>, .nv.info and .nv.info.<kernel> (standard library only).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAX_THREADS, KPARAM_INFO, REQNTID, FRAME_SIZE, REGCOUNT, CTA_PER_CLUSTER = 0x05, 0x17, 0x10, 0x11, 0x2F, 0x3D
RESERVED_SHARED = 1024
WITH_PAYLOAD = 4  # the attribute format whose value follows a 16-bit size; the others hold it in these 16 bits


class CubinError(Exception):
    """The bytes are no cubin that can be read; ``str(error)`` is one sentence."""


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter: byte offset in the parameter block and size."""

    offset: int
    size: int


@dataclass(frozen=True)
class Resources:
    """One kernel; stack_bytes is per thread; required_threads and cluster are None where it leaves them open."""

    name: str
    registers: int
    stack_bytes: int
    static_shared_bytes: int
    required_threads: tuple[int, int, int] | None
    max_threads: int | None
    cluster: tuple[int, int, int] | None
    parameters: tuple[Parameter, ...]


def read(cubin: bytes) -> dict[str, Resources]:
    """The kernels of a cubin by name. Raises CubinError."""
    if cubin[:4] != b"\x7fELF" or len(cubin) < 64:
        raise CubinError("not a cubin: it does not start as an ELF file")
    try:
        return _kernels(cubin)
    except (struct.error, LookupError, ValueError, OverflowError) as error:
        raise CubinError(f"the cubin is damaged or of an unknown format: {error}") from None


def _kernels(cubin: bytes) -> dict[str, Resources]:
    sections = _sections(cubin)
    by_name = {section.name: section for section in sections}
    symbols = _symbols(by_name)
    registers, frames = {}, {}
    for attribute, payload in _attributes(by_name[".nv.info"].data if ".nv.info" in by_name else b""):
        if attribute in (REGCOUNT, FRAME_SIZE) and len(payload) >= 8:
            symbol, value = struct.unpack_from("<II", payload)
            (registers if attribute == REGCOUNT else frames)[symbols[symbol]] = value
    kernels = {}
    for name in [s.name.removeprefix(".text.") for s in sections if s.name.startswith(".text.")]:
        info = by_name.get(f".nv.info.{name}")
        if info is None:
            continue  # a device function
        facts, parameters = {}, {}
        for attribute, payload in _attributes(info.data):
            if attribute == KPARAM_INFO:
                _, ordinal, offset, bits = struct.unpack_from("<IHHI", payload)
                parameters[ordinal] = Parameter(offset, bits >> 18)
            elif attribute in (REQNTID, MAX_THREADS, CTA_PER_CLUSTER) and len(payload) >= 12:
                facts[attribute] = struct.unpack_from("<3I", payload)
        cluster = facts.get(CTA_PER_CLUSTER)
        bound = facts.get(MAX_THREADS)
        shared = by_name.get(f".nv.shared.{name}")
        # From capability 9.0 on the section starts with the 1 KiB that the driver reserves; ptxas -v does not count it.
        reserved = RESERVED_SHARED if ".nv.shared.reserved.0" in by_name else 0
        kernels[name] = Resources(
            name=name,
            # Older cubins keep the count in the section header only.
            registers=registers.get(name) or by_name[f".text.{name}"].info >> 24,
            stack_bytes=frames.get(name, 0),
            static_shared_bytes=max(shared.size - reserved, 0) if shared else 0,
            required_threads=facts.get(REQNTID),
            max_threads=bound[0] * bound[1] * bound[2] if bound else None,
            cluster=cluster if cluster and all(cluster) else None,
            parameters=tuple(parameters[i] for i in sorted(parameters)),
        )
    return kernels


@dataclass(frozen=True)
class _Section:
    name: str
    size: int
    info: int
    link: int
    data: bytes


def _sections(cubin: bytes) -> list[_Section]:
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    entry, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + i * entry) for i in range(count)]
    names = _contents(cubin, headers[names_index])
    return [_Section(_text(names, h[0]), h[5], h[7], h[6], _contents(cubin, h)) for h in headers]


def _contents(cubin: bytes, header: tuple) -> bytes:
    no_bits = 8
    return b"" if header[1] == no_bits else cubin[header[4] : header[4] + header[5]]


def _symbols(by_name: dict[str, _Section]) -> list[str]:
    table, names = by_name[".symtab"].data, by_name[".strtab"].data
    return [_text(names, struct.unpack_from("<I", table, i)[0]) for i in range(0, len(table), 24)]


def _text(table: bytes, start: int) -> str:
    return table[start : table.index(b"\0", start)].decode()


def _attributes(data: bytes):
    """(code, payload) of each entry of a .nv.info section."""
    at = 0
    while at + 4 <= len(data):
        form, code, value = struct.unpack_from("<BBH", data, at)
        size = value if form == WITH_PAYLOAD else 0
        yield code, data[at + 4 : at + 4 + size] if form == WITH_PAYLOAD else data[at + 2 : at + 4]
        at += 4 + size
