"""Tensor maps that a kernel writes: tensormap.replace, tensormap.cp_fenceproxy, and the fence before their use.

PTX ISA, "Data Movement and Conversion: tensormap.replace, tensormap.cp_fenceproxy" and "membar, fence". The fields of
the 128 bytes are those of tensor_copies.py. A copy by a CTA that has not executed the acquiring fence.proxy.tensormap
for the map since it was written is a missing-proxy-fence.
"""

import struct

import numpy as np

from .access import SCOPES, address_reader, load, store
from .operands import Modifiers
from .synchronization import _values
from .warp import ALL

# Field -> of each of its ordinals (word of 64 bits, first bit, bits).
_FIELDS = {
    "global_address": [(0, 0, 64)],
    "rank": [(1, 4, 3)],
    "elemtype": [(1, 7, 4)],
    "swizzle_mode": [(1, 13, 2)],
    "fill_mode": [(1, 15, 1)],
    "box_dim": [(6, 56, 8), (7, 0, 8), (7, 8, 8), (7, 16, 8), (7, 24, 8)],
    "global_dim": [(4, 0, 32), (4, 32, 32), (5, 0, 32), (5, 32, 32), (6, 0, 32)],
    "global_stride": [(1, 32, 32), (2, 0, 32), (2, 32, 32), (3, 0, 32)],
}
_ONLY = {"element_stride": 1, "interleave_layout": 0, "swizzle_atomicity": 0}  # the values that copies can use here
_ELEMENTS = {**{code: code for code in range(11)}, 11: 8, 12: 8, 13: 11}  # as PTX numbers them -> as the map does
_BY_ORDINAL = ("box_dim", "global_dim", "global_stride", "element_stride")
_PIECES = 16 * np.arange(8, dtype=np.uint64)


def _put(words, place, value):
    word, first, bits = place
    mask = (1 << bits) - 1
    words[word] = words[word] & ~(mask << first) | (value & mask) << first


def replaced(words, field, ordinal, value):
    """The 16 words of a map with one field replaced; None where no map can hold it."""
    words = list(words)
    if field in _ONLY:
        return words
    if field == "global_stride":
        if value % 16:
            return None
        value //= 16
        _put(words, (3, 32 + 4 * ordinal, 4), value >> 32)
    elif field in ("box_dim", "global_dim"):
        if value == 0:
            return None
        value -= 1
    _put(words, _FIELDS[field][ordinal], value)
    return words


def bind_tensormap(machine, instruction):
    mods = Modifiers(instruction)
    if mods.flag("cp_fenceproxy"):
        return _bind_copy(machine, instruction, mods)
    field = mods.take(*_FIELDS, *_ONLY) if mods.flag("replace") and mods.flag("tile") else None
    if field is None:
        raise mods.unsupported("operation or field")
    space = mods.take("shared::cta", "global", default="generic")
    kind = "b64" if field in ("global_address", "global_stride") else "b32"
    mods.skip("b1024", kind)
    mods.done()
    address, *ordinals, value = instruction.operands
    ordinal = ordinals[0].value if field in _BY_ORDINAL else 0
    addresses_of, values = address_reader(machine, address), _values(machine, value, kind)

    def step(lanes):
        index = lanes.index
        for lane, start in zip(index.tolist(), addresses_of(index), strict=True):
            new = int(values[lane])
            if field == "elemtype":
                new = _ELEMENTS.get(new)
            if new is None or new != _ONLY.get(field, new) or (field == "swizzle_mode" and new > 3):
                raise mods.unsupported(f"{field} {int(values[lane])}")
            pieces, owners = start + _PIECES, np.full(8, lane)
            words = struct.unpack("<16Q", load(machine, space, pieces, owners, 16).tobytes())
            words = replaced(words, field, ordinal, new)
            if words is None:
                message = f"a tensor map cannot have the {field} {new} (PTX ISA, tensormap.replace)"
                machine.find("illegal-operand", message, lane)
                continue
            store(machine, space, pieces, owners, np.frombuffer(struct.pack("<16Q", *words), np.uint8).reshape(8, 16))
            if space != "shared::cta":
                machine.program.tensor_maps[int(start)] = set()

    return step


def _bind_copy(machine, instruction, mods):
    """Each warp copies a map from shared to global memory, and releases it to those who fence before they use it."""
    mods.skip("global", "shared::cta", "tensormap::generic", "release", *SCOPES, "sync", "aligned")
    mods.done()
    if instruction.operands[2].value != 128:
        raise mods.unsupported("a size that is not 128")
    target_of, source_of = (address_reader(machine, operand) for operand in instruction.operands[:2])

    def execute(lanes):
        leaders = np.flatnonzero(lanes.mask.reshape(-1, 32).any(axis=1)) * 32
        leaders += lanes.mask.reshape(-1, 32)[leaders // 32].argmax(axis=1)
        owners, pieces = np.repeat(leaders, 8), np.tile(_PIECES, len(leaders))
        rows = load(machine, "shared", np.repeat(source_of(leaders), 8) + pieces, owners, 16)
        targets = target_of(leaders)
        store(machine, "global", np.repeat(targets, 8) + pieces, owners, rows)
        for target in targets.tolist():
            machine.program.tensor_maps[target] = set()
        machine.clocks.warp_barrier(lanes.index)

    return lambda lanes: machine.collective(lanes, ALL, execute)


def or_fence(bind_other):
    """The rule of fences: those that acquire a map here, the others by `bind_other`."""
    words = {"proxy", "tensormap::generic", "acquire"}

    def bind(machine, instruction):
        return (_bind_acquire if words <= set(instruction.modifiers) else bind_other)(machine, instruction)

    return bind


def _bind_acquire(machine, instruction):
    """fence.proxy.tensormap::generic.acquire [map], 128: the CTA, or its cluster, may use the map from now on."""
    addresses_of = address_reader(machine, instruction.operands[0])

    def step(lanes):
        index = lanes.index
        for address, unit in zip(addresses_of(index).tolist(), machine.unit[index].tolist(), strict=True):
            machine.program.tensor_maps.get(address, set()).add(unit)

    return step


def check_acquired(machine, lane, address):
    """`lane` uses the map at this address."""
    acquired = machine.program.tensor_maps.get(address)
    if acquired is not None and int(machine.unit[lane]) not in acquired:
        message = (
            "uses a tensor map that the kernel wrote, and no fence.proxy.tensormap::generic.acquire of it since "
            "(PTX ISA, membar, fence)"
        )
        machine.find("missing-proxy-fence", message, lane)
