"""Operands of matrix instructions in shared memory: the canonical layouts, and tiles read through a descriptor.

Layouts: PTX ISA, "Asynchronous Warpgroup Level Matrix: Canonical Layouts" and "TensorCore 5th Generation: Shared Memory
Layout and Swizzling". The descriptors of wgmma and tcgen05 share the fields that are used here, and no others.
"""

import functools

import numpy as np

from . import numerics as nm
from .findings import UnsupportedInstruction
from .memory import CTA_SHIFT, SHARED_BASE
from .synchronization import shared_offsets
from .tensor_copies import swizzled
from .warp import ELEMENT_BITS, to_float

PACKED = "packed e2m1"  # two elements in a byte
_SWIZZLES = {0: 0, 1: 128, 2: 64, 3: 32}


def swizzle_width(descriptor):
    return _SWIZZLES[descriptor >> 62 & 3]


@functools.lru_cache(maxsize=1024)
def chunk_addresses(descriptor, rows, k_bytes, k, element_bytes, transposed):
    """Addresses, relative to the CTA's window, of the 16-byte chunks of an operand tile.

    K-major: (rows, k_bytes / 16) chunks along k. Transposed (M- or N-major): (k, rows * element_bytes / 16) along rows.
    """
    if descriptor >> 49 & 15 or descriptor >> 61 == 1:
        what = "a base offset, an absolute leading dimension, or a swizzle of 32-byte atoms"
        raise UnsupportedInstruction(f"a matrix descriptor with {what} is not implemented in the simulator")
    start = (descriptor & 0x3FFF) << 4
    leading, stride = (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
    width = swizzle_width(descriptor)
    if not transposed:
        row, chunk = np.arange(rows)[:, None], np.arange(k_bytes // 16)[None]
        if width:
            linear = start + row // 8 * stride + row % 8 * width + 16 * chunk
        else:
            linear = start + row // 8 * stride + row % 8 * 16 + chunk * leading
    else:
        line, chunk = np.arange(k)[:, None], np.arange(rows * element_bytes // 16)[None]
        if width:
            per = width // 16
            linear = start + line // 8 * stride + line % 8 * width + chunk // per * leading + chunk % per * 16
        else:
            linear = start + line // 8 * leading + line % 8 * 16 + chunk * stride
    addresses = swizzled(linear, width)
    addresses.flags.writeable = False  # shared by all who ask for this tile
    return addresses


def read_chunks(machine, lane, rank, chunks, what):
    """Bytes of 16-byte chunks of CTA `rank`'s shared memory, (lines, bytes), and their offsets in the shared buffer.

    None instead of bytes where a chunk lies outside.
    """
    # The descriptor holds 18 bits of the address, which reach all of shared memory.
    offsets = chunks.ravel() - SHARED_BASE
    if offsets.min() >= 0 and offsets.max() <= machine.shared.nbytes - 16 and rank < machine.cluster_size:
        offsets += (int(machine.first_slot[lane]) + rank) * machine.shared.stride
    else:
        addresses = (chunks.ravel() | rank << CTA_SHIFT).astype(np.uint64)
        offsets = shared_offsets(machine, "shared", addresses, np.full(len(addresses), lane), 16, f"{what} reads")
        if (offsets < 0).any():
            return None, offsets[offsets >= 0]
    missing = machine.shared.buffer.unwritten(offsets, 16)
    if missing is not None:
        message = f"{what} reads {16 * int(missing.sum())} bytes of shared memory that nobody wrote"
        machine.find("uninitialised-read", message, int(lane))
    if machine.profile:
        machine.profile.streamed(machine, "read", 16 * len(offsets))
    return machine.shared.buffer.gather(offsets, 16).reshape(chunks.shape[0], -1), offsets


def read_tile(machine, lane, rank, descriptor, shape, kind, transposed, what, problem_of):
    """An operand tile of `shape` (rows, k) as values, and the offsets of its chunks in the shared buffer."""
    rows, k = shape
    if problem := problem_of(descriptor, swizzle_width(descriptor)):
        machine.find("illegal-operand", problem, int(lane))
    size = ELEMENT_BITS.get(kind, 8) // 8
    chunks = chunk_addresses(descriptor, rows, 32 if kind == PACKED else k * size, k, size, transposed)
    data, offsets = read_chunks(machine, lane, rank, chunks, what)
    if data is None:
        return np.zeros((rows, k)), offsets
    width = swizzle_width(descriptor)
    if (laid := machine.shared.buffer.laid_otherwise(offsets, width)) is not None:
        names = [f"a swizzle of {n} bytes" if n else "no swizzle" for n in (width, laid)]
        message = f"{what} reads an operand with {names[0]} that a tensor copy wrote with {names[1]}"
        machine.find("swizzle-mismatch", message, int(lane))
    if kind == PACKED:
        return nm.PADDED_VALUES["e2m1"][np.stack([data & 15, data >> 4], axis=-1).reshape(rows, k)], offsets
    if kind in nm.PADDED_VALUES:
        return nm.padded_to_f32(data, kind), offsets
    values = to_float(data.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[size]), kind)
    return values.T if transposed else values, offsets
