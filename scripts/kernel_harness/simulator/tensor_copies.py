"""Tensor maps and the copies that use them (TMA): boxes, swizzles, multicast, out-of-bounds fill.

The 128-byte descriptor is opaque in the PTX ISA. CuTe DSL writes it in its host code; the fields below were read off
the code that nvidia-cutlass-dsl 4.8.1 generates. Bits without a known meaning stop the run.
"""

import functools
import struct
from dataclasses import dataclass

import numpy as np

from . import numerics as nm
from .access import address_reader, load, locate, look_for_constant, report_outside
from .copies import bulk_read, complete, multicast_targets, share_bulk_read
from .findings import UnsupportedInstruction
from .legality import tensor_map_problems
from .memory import CTA_SHIFT, LOCAL_WINDOW, PARAMETER_WINDOW
from .operands import Modifiers
from .ptx import type_bytes
from .synchronization import _values, shared_offsets
from .tensor_map_edits import check_acquired

# Code of the element type -> (bytes, name of the NumPy or raw type for reductions).
_NAMES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16")
ELEMENTS = {code: (type_bytes(name), name) for code, name in enumerate(_NAMES)}
_PAIRS = 11  # of 4-bit elements: dimensions, boxes and coordinates count elements, two of which share a byte
_FILL_NAN, _TF32, _ROUND = 1 << 15, 1 << 16, 1 << 21
_KNOWN = 0x70 | 0x780 | 0x6000 | _FILL_NAN | _TF32 | 0x60000 | _ROUND | 2


@dataclass(frozen=True)
class TensorMap:
    """Dimensions are innermost first; `strides` in bytes, for dimensions 1 and up; `swizzle` is 0, 32, 64 or 128.

    halved: the innermost dimension holds pairs of 4-bit elements, and so do its box and its coordinates.
    """

    address: int
    element: int
    dims: tuple
    strides: tuple
    box: tuple
    swizzle: int = 0
    fill_nan: bool = False
    halved: bool = False

    @property
    def element_bytes(self):
        return ELEMENTS[self.element][0]

    def encode(self):
        """The 128 bytes that a kernel receives."""
        rank = len(self.dims)
        dims, box = (list(values) + [1] * (5 - rank) for values in (self.dims, self.box))
        strides = [stride // 16 for stride in self.strides] + [0] * (5 - rank)
        flags = 2 | (rank - 1) << 4 | self.element << 7 | {0: 0, 32: 1, 64: 2, 128: 3}[self.swizzle] << 13 | 2 << 17
        flags |= _FILL_NAN if self.fill_nan else 0
        high = sum((stride >> 32 & 15) << (32 + 4 * index) for index, stride in enumerate(strides))
        words = [
            self.address, flags | (strides[0] & 0xFFFFFFFF) << 32,
            strides[1] & 0xFFFFFFFF | (strides[2] & 0xFFFFFFFF) << 32,
            strides[3] & 0xFFFFFFFF | high, dims[0] - 1 | dims[1] - 1 << 32, dims[2] - 1 | dims[3] - 1 << 32,
            dims[4] - 1 | box[0] - 1 << 56, box[1] - 1 | box[2] - 1 << 8 | box[3] - 1 << 16 | box[4] - 1 << 24,
        ]  # fmt: skip
        return struct.pack("<16Q", *words, *[0] * 8)

    @staticmethod
    @functools.lru_cache(maxsize=256)
    def decode(data):
        """The map in these 128 bytes."""
        words = struct.unpack("<16Q", data)
        flags = words[1] & 0xFFFFFFFF
        element = flags >> 7 & 15
        halved = element == _PAIRS
        if flags & ~_KNOWN or not (halved or element in ELEMENTS) or words[6] >> 32 & 0xFFFFFF:
            raise UnsupportedInstruction(
                f"a tensor map with flags 0x{flags:x} (interleave, steps or an unknown type) is not implemented"
            )
        rank = (flags >> 4 & 7) + 1
        low = [words[1] >> 32, words[2] & 0xFFFFFFFF, words[2] >> 32, words[3] & 0xFFFFFFFF]
        strides = [16 * (value | (words[3] >> (32 + 4 * index) & 15) << 32) for index, value in enumerate(low)]
        dims = [1 + (words[4 + index // 2] >> 32 * (index % 2) & 0xFFFFFFFF) for index in range(5)]
        box = [1 + (words[6] >> 56)] + [1 + (words[7] >> 8 * index & 0xFF) for index in range(4)]
        swizzle = (0, 32, 64, 128)[flags >> 13 & 3]
        if halved:
            element, dims[0], box[0] = 0, dims[0] // 2, box[0] // 2
        return TensorMap(
            words[0],
            element,
            tuple(dims[:rank]),
            tuple(strides[: rank - 1]),
            tuple(box[:rank]),
            swizzle,
            bool(flags & _FILL_NAN),
            halved,
        )


def swizzled(addresses, width):
    """Shared-memory addresses as the `width`-byte swizzle places them: 16-byte chunk number xor line number."""
    chunks = {0: 0, 32: 1, 64: 3, 128: 7}[width]
    return addresses ^ (((addresses >> 7) & chunks) << 4) if chunks else addresses


def _piece_bytes(tensor_map, coordinates, shared_address):
    """16 where the box consists of 16-byte pieces, each inside or outside of the tensor as a whole; else an element."""
    size = tensor_map.element_bytes
    row, first, end = (size * value for value in (tensor_map.box[0], coordinates[0], tensor_map.dims[0]))
    aligned = 16 % size == 0 and not (row | first | shared_address) % 16
    return 16 if aligned and (end % 16 == 0 or first + row <= end) else size


@functools.lru_cache(maxsize=64)
def _grid(box, strides, size, piece):
    """Of each piece of a box: its address relative to the first one's, and its coordinates there, innermost first."""
    axes = [np.arange(extent, dtype=np.int64) for extent in box]
    axes[0] = axes[0][:: piece // size]
    grids = [grid.ravel() for grid in np.meshgrid(*reversed(axes), indexing="ij")[::-1]]
    return sum(grid * stride for grid, stride in zip(grids, (size, *strides), strict=True)), grids


def _pieces(tensor_map, coordinates, shared_address, piece):
    """Per `piece` bytes of the box: global address, whether inside the tensor, shared address."""
    size, dims, box = tensor_map.element_bytes, tensor_map.dims, tensor_map.box
    relative, grids = _grid(box, tensor_map.strides, size, piece)
    corner = zip(coordinates, (size, *tensor_map.strides), strict=False)
    address = relative + (tensor_map.address + sum(at * stride for at, stride in corner))
    inside = np.ones(len(relative), dtype=bool)
    for axis, at in enumerate(coordinates[: len(dims)]):
        if at < 0 or at + box[axis] > dims[axis]:
            inside &= (grids[axis] >= -at) & (grids[axis] < dims[axis] - at)
    linear = shared_address + piece * np.arange(len(relative), dtype=np.int64)
    return address, inside, swizzled(linear, tensor_map.swizzle)


def _read_map(machine, lane, address):
    row = load(machine, "generic", np.array([address], dtype=np.uint64), np.array([lane]), 128, align=64)
    tensor_map = TensorMap.decode(row.tobytes())
    check_acquired(machine, int(lane), int(address))
    if LOCAL_WINDOW <= int(address) < PARAMETER_WINDOW:
        message = (
            "a tensor map in local memory: it must be a __grid_constant__, constant or global (PTX ISA, tensormap)"
        )
        machine.find("illegal-operand", message, int(lane))
    for problem in tensor_map_problems(tensor_map):
        machine.find("illegal-operand", problem, int(lane))
    return tensor_map


def bind_tensor(machine, instruction, mods: Modifiers, reduces):
    mods.take("1d", "2d", "3d", "4d", "5d")
    to_shared = mods.left[0].startswith("shared")
    del mods.left[:2]
    reduction = mods.take("add", "min", "max", "and", "or", "xor", "inc", "dec") if reduces else None
    pair = mods.flag("cta_group::2")
    mods.skip("tile", "L2::*", "cta_group::1")
    mods.take("mbarrier::complete_tx::bytes", "bulk_group")
    multicast = mods.flag("multicast::cluster")
    mods.done()
    operands = list(instruction.operands)
    tensor, shared = (operands[1], operands[0]) if to_shared else (operands[0], operands[1])
    map_of = address_reader(machine, tensor)
    coordinates = [_values(machine, item, "s32") for item in tensor.extra[0].items]
    shared_of = address_reader(machine, shared)
    barrier_of = address_reader(machine, operands[2]) if to_shared else None
    mask = _values(machine, operands[3], "b16") if multicast else None

    def step(lanes):
        done, index = {}, lanes.index
        boxes = zip(*(values[index].tolist() for values in coordinates), strict=True)
        places = map_of(index).tolist(), shared_of(index).tolist(), barrier_of(index).tolist() if to_shared else index
        for lane, at, where, start, barrier in zip(index.tolist(), boxes, *places, strict=True):
            key = (where, at, start, lane // 32)
            if key in done and not to_shared and not reduction:
                # Lanes of a warp that store the same box: once is enough, but each lane waits for its own group.
                share_bulk_read(machine, done[key], lane)
                continue
            if key in done:
                _several_issue(machine, lane, reduction)
            done[key] = lane
            tensor_map = _read_map(machine, lane, where)
            if tensor_map.halved:
                if at[0] % 2:
                    raise mods.unsupported("an odd coordinate of 4-bit elements")
                at = (at[0] // 2, *at[1:])
            if len(at) != len(tensor_map.dims):
                message = f"a {len(at)}-dimensional copy uses a tensor map of {len(tensor_map.dims)} dimensions"
                machine.find("out-of-bounds", message, int(lane))
            if start % 128:
                message = f"a tensor copy needs a shared address that is a multiple of 128, not 0x{start:x}"
                machine.find("misaligned", message, int(lane), start)
            if to_shared:
                ranks = mask[lane] if multicast else None
                _load(machine, lane, tensor_map, at, start, barrier, ranks, pair)
            else:
                _store(machine, lane, tensor_map, at, start, reduction)

    return step


def _several_issue(machine, lane, reduction):
    message = "several lanes of a warp issue the same " + ("reduction" if reduction else "copy")
    machine.find("missing-election", message + "; elect one of them", int(lane))


def _spans(offsets, size):
    """Element offsets of a box -> (offsets, bytes) of its contiguous 16-byte pieces, or of single elements."""
    if 16 % size == 0 and len(offsets) % (16 // size) == 0:
        pieces = offsets.reshape(-1, 16 // size)
        if (pieces[:, -1] - pieces[:, 0] == 16 - size).all():
            return pieces[:, 0], 16
    return offsets, size


def _load(machine, lane, tensor_map, coordinates, start, barrier, ranks, pair, piece=None):
    element, start_offset = tensor_map.element_bytes, start & ((1 << CTA_SHIFT) - 1)
    size = piece or _piece_bytes(tensor_map, coordinates, start_offset)
    addresses, inside, targets = _pieces(tensor_map, coordinates, start_offset, size)
    data = np.full((len(addresses), size), 0xFF if tensor_map.fill_nan else 0, dtype=np.uint8)
    if inside.any():
        chosen = np.flatnonzero(inside)
        lanes = np.full(len(chosen), lane)
        parts, outside = machine.memory.locate(addresses[chosen].astype(np.uint64), lanes, size)
        if size != element and (
            len(outside) or any(b.pending is not None or b.unwritten(o, size) is not None for b, _, o in parts)
        ):  # findings tell elements
            return _load(machine, lane, tensor_map, coordinates, start, barrier, ranks, pair, element)
        report_outside(
            machine, "global", addresses[chosen].astype(np.uint64), lanes, outside, size, "a tensor copy reads"
        )
        for buffer, positions, offsets in parts:
            missing = buffer.unwritten(offsets, size)
            if missing is not None:
                machine.find(
                    "uninitialised-read",
                    f"a tensor copy reads {int(missing.sum())} elements of {buffer.label} that nobody wrote",
                    int(lane),
                )
            machine.global_races.read(machine, buffer, offsets, size, lanes[positions], element)
            machine.lifetimes.dependent(buffer, lanes[positions], offsets, size, "a tensor copy reads")
            data[chosen[positions]] = buffer.gather(offsets, size)
    base = start & ~((1 << CTA_SHIFT) - 1)
    destinations = (
        [base]
        if ranks is None
        else [a & ~((1 << CTA_SHIFT) - 1) for a in multicast_targets(machine, lane, start, ranks)]
    )
    barriers = [barrier] if ranks is None else multicast_targets(machine, lane, barrier, ranks)
    if pair and ranks is not None:  # the barrier of the CTA of each pair that has the parity of the one given
        barriers = [b & ~(1 << CTA_SHIFT) | barrier & 1 << CTA_SHIFT for b in barriers]
    _check_signal(machine, lane, start, barrier, pair)
    for window, signal in zip(destinations, barriers, strict=True):
        offsets = _box_offsets(machine, lane, targets | window, size, element, "a tensor copy writes")
        if (offsets < 0).any():
            continue
        machine.shared.buffer.scatter(offsets, data)
        machine.shared.buffer.lay(offsets, tensor_map.swizzle)
        machine.barriers.overwritten(offsets[:1], data.size) if not tensor_map.swizzle else None

        def clock(column, offsets=offsets):
            machine.clocks.async_write(int(lane), _spans(offsets, size), column)
            return int(machine.clocks.async_clock[column])

        complete(machine, lane, signal, data.size, clock)
    counters = machine.report.counters
    if machine.profile:
        machine.profile.copied(machine, "read", addresses[inside], size)
        machine.profile.streamed(machine, "written", data.size * len(destinations))
    counters["global_bytes_read"] = counters.get("global_bytes_read", 0) + int(inside.sum()) * size


def _box_offsets(machine, lane, addresses, size, element, verb):
    """shared_offsets of the pieces of a box; what is outside is reported in elements."""
    parts, outside = machine.shared.locate(addresses, np.full(len(addresses), lane), size)
    if not len(outside):
        return parts[0][2]
    addresses = (addresses[:, None] + np.arange(0, size, element)).ravel()
    lanes = np.full(len(addresses), lane)
    return shared_offsets(machine, "shared", addresses.astype(np.uint64), lanes, element, verb)


def _check_signal(machine, lane, start, barrier, pair):
    target, signal = (int(address) >> CTA_SHIFT for address in (start, barrier))
    if target != signal and (target ^ 1 != signal or not pair):
        message = "a tensor copy signals an mbarrier of another CTA; only .cta_group::2 can, one of its CTA pair"
        machine.find("illegal-operand", f"{message} (PTX ISA, cp.async.bulk.tensor)", int(lane))


def _store(machine, lane, tensor_map, coordinates, start, reduction):
    element, start_offset = tensor_map.element_bytes, start & ((1 << CTA_SHIFT) - 1)
    size = element if reduction else _piece_bytes(tensor_map, coordinates, start_offset)
    addresses, inside, sources = _pieces(tensor_map, coordinates, start_offset, size)
    if size != element and not _plain(machine, lane, addresses[inside], sources[inside] | start - start_offset, size):
        size = element  # findings tell elements
        addresses, inside, sources = _pieces(tensor_map, coordinates, start_offset, size)
    offsets = _box_offsets(machine, lane, sources | start - start_offset, size, element, "a tensor copy reads")
    if (offsets < 0).any():
        return
    bulk_read(machine, lane, _spans(offsets, size))
    missing = machine.shared.buffer.unwritten(offsets[inside], size)
    if missing is not None:
        machine.find(
            "uninitialised-read",
            f"a tensor copy reads {int(missing.sum())} elements of shared memory that nobody wrote",
            int(lane),
            start,
        )
    data = machine.shared.buffer.gather(offsets[inside], size)
    chosen = addresses[inside].astype(np.uint64)
    lanes = np.full(len(chosen), lane)
    parts, outside = locate(machine, "global", chosen, lanes, size)
    report_outside(machine, "global", chosen, lanes, outside, size, "a tensor copy writes")
    for buffer, positions, there, _ in parts:
        rows = data[positions]
        look_for_constant(machine, buffer, lanes[positions], there)
        machine.global_races.write(machine, buffer, there, size, lanes[positions], rows, element)
        machine.lifetimes.dependent(buffer, lanes[positions], there, size, "a tensor copy writes")
        if reduction:
            rows = _reduce(reduction, tensor_map.element, buffer.gather(there, size), rows)
        buffer.scatter(there, rows)
    counters = machine.report.counters
    if machine.profile:
        machine.profile.copied(machine, "written", addresses[inside], size)
        machine.profile.streamed(machine, "read", data.size)
    counters["global_bytes_written"] = counters.get("global_bytes_written", 0) + data.size


def _plain(machine, lane, addresses, sources, size):
    """Whether a store of these pieces stays inside, reads what was written, and may begin whenever it likes."""
    lanes = np.full(len(addresses), lane)
    parts, outside = machine.memory.locate(addresses.astype(np.uint64), lanes, size)
    if len(outside) or any(buffer.pending is not None for buffer, *_ in parts):
        return False
    parts, outside = machine.shared.locate(sources, lanes, size)
    return not len(outside) and all(buffer.unwritten(offsets, size) is None for buffer, _, offsets in parts)


_REDUCERS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _reduce(reduction, element, old, new):
    name = ELEMENTS[element][1]
    if reduction not in _REDUCERS or (name in ("f16", "f32", "f64", "bf16") and reduction in ("and", "or", "xor")):
        raise UnsupportedInstruction(
            f"cp.reduce.async.bulk.tensor .{reduction} on {name} is not implemented in the simulator"
        )
    old, new = np.ascontiguousarray(old), np.ascontiguousarray(new)
    if name == "bf16":
        a, b = nm.bf16_to_f32(old.view(np.uint16)), nm.bf16_to_f32(new.view(np.uint16))
        return nm.f32_to_bf16(_REDUCERS[reduction](a, b)).view(np.uint8)
    dtype = {"u": "u", "s": "i", "f": "f"}[name[0]] + str(old.shape[1])
    return _REDUCERS[reduction](old.view(dtype), new.view(dtype)).view(np.uint8)
