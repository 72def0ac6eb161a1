"""Loads and stores: address spaces, bounds, alignment, uninitialised reads, the record of accesses."""

import numpy as np

from . import memory as mem
from . import ptx
from .operands import NUMPY_TYPES, Modifiers

SPACES = (
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "param",
    "param::entry",
    "param::func",
    "const",
)
ORDERING = ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio")
SCOPES = ("cta", "cluster", "gpu", "sys")
# Cache operators and prefetch hints change no result.
_HINTS = ("ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", "L1::*", "L2::*", "unified")


def address_reader(machine, operand):
    """[base + offset] -> function of lane indices to uint64 addresses."""
    base, offset = operand.base, np.int64(operand.offset)
    if isinstance(base, ptx.Immediate):
        constant = np.uint64(base.value) + offset.astype(np.uint64)
        return lambda index: np.full(len(index), constant)
    if isinstance(base, ptx.Symbol):
        value = machine.registers.constants[base.name]
        total = np.asarray(value, dtype=np.uint64) + np.uint64((base.offset + operand.offset) & (2**64 - 1))
        return (lambda index: total[index]) if total.ndim else (lambda index: np.full(len(index), total))
    array = machine.registers.array(base.name)
    if array.dtype == np.uint32:
        step = np.uint32(operand.offset & 0xFFFFFFFF)
        return lambda index: (array[index] + step).astype(np.uint64)
    step = np.uint64(operand.offset & (2**64 - 1))
    return lambda index: array[index] + step


def locate(machine, space, addresses, lanes, nbytes):
    """[(buffer, positions, offsets, is_shared)], positions outside every allocation."""
    if space.startswith("shared"):
        parts, outside = machine.shared.locate(addresses, lanes, nbytes)
        return [(*part, True) for part in parts], outside
    if space.startswith("param") and bool((addresses >= np.uint64(mem.PARAMETER_WINDOW)).all()):
        return _locate_parameters(machine, addresses, nbytes)
    if space == "local" or space.startswith("param"):  # those of a device function lie there
        parts, outside = machine.local.locate(addresses, lanes, nbytes)
        return [(*part, False) for part in parts], outside
    if space in ("global", "const"):
        parts, outside = machine.memory.locate(addresses, lanes, nbytes)
        return [(*part, False) for part in parts], outside
    return _locate_generic(machine, addresses, lanes, nbytes)


def _locate_parameters(machine, addresses, nbytes):
    """The kernel's, by addresses that have their window: from a register, as where one of two tensors is chosen."""
    offsets = (addresses - np.uint64(mem.PARAMETER_WINDOW)).astype(np.int64)
    inside = offsets + nbytes <= len(machine.parameters)
    found = np.flatnonzero(inside)
    return [(machine.parameters, found, offsets[found], False)], np.flatnonzero(~inside)


def _locate_generic(machine, addresses, lanes, nbytes):
    window = (addresses >> np.uint64(48)).astype(np.int64)
    parts, outside = [], []
    for name, base in (
        ("shared", mem.SHARED_WINDOW),
        ("local", mem.LOCAL_WINDOW),
        ("parameters", mem.PARAMETER_WINDOW),
        ("global", 0),
    ):
        chosen = (
            window == base >> 48 if base else (window < mem.SHARED_WINDOW >> 48) | (window > mem.PARAMETER_WINDOW >> 48)
        )
        if not chosen.any():
            continue
        positions = np.flatnonzero(chosen)
        if name == "parameters":
            found, missed = _locate_parameters(machine, addresses[positions], nbytes)
        else:
            there = addresses[positions] - np.uint64(base)
            found, missed = locate(machine, name, there, lanes[positions], nbytes)
        parts += [(buffer, positions[which], offsets, shared) for buffer, which, offsets, shared in found]
        outside.append(positions[np.asarray(missed, dtype=np.int64)])
    return parts, np.concatenate(outside) if outside else ()


def _check_alignment(machine, addresses, lanes, nbytes):
    if int(np.bitwise_or.reduce(addresses)) & (nbytes - 1):
        wrong = np.flatnonzero(addresses & np.uint64(nbytes - 1))
        lane, address = int(lanes[wrong[0]]), int(addresses[wrong[0]])
        machine.find(
            "misaligned",
            f"an access at 0x{address:x} needs an address that is a multiple of {nbytes}",
            lane,
            address,
            len(wrong),
        )


def report_outside(machine, space, addresses, lanes, positions, nbytes, verb):
    if len(positions) == 0:
        return
    lane, address = int(lanes[positions[0]]), int(addresses[positions[0]])
    text = f"{verb} {nbytes} bytes at 0x{address:x}"
    if space.startswith("shared"):
        offset = (address & 0xFFFFFF) - mem.SHARED_BASE
        text = (
            f"{verb} {nbytes} bytes at shared memory offset {offset}; the CTA has {machine.program.shared_bytes} bytes"
        )
    elif address >= mem.PARAMETER_WINDOW:
        text += f", {address - mem.PARAMETER_WINDOW} bytes behind the begin of the kernel's parameters"
    elif nearest := machine.memory.nearest(address):
        before, past = nearest.base - address, address - nearest.base - len(nearest)
        relation = f"{before} bytes before" if before > 0 else f"{past} bytes past the end of"
        relation = relation if max(before, past) >= 0 else "across the end of"
        text += f", {relation} {nearest.label or 'an allocation'} ({len(nearest)} bytes)"
        if coordinates := nearest.coordinates(address - nearest.base, beyond=True):
            text += f", at {list(coordinates)} of its shape {list(nearest.tensor[1])}"
    machine.find("out-of-bounds", text, lane, address, len(positions))


def describe(buffer, offset):
    """'input 0 [3, 7]' or 'shared memory + 64'."""
    coordinates = buffer.coordinates(int(offset))
    return f"{buffer.label} {list(coordinates)}" if coordinates is not None else f"{buffer.label} + {int(offset)} bytes"


def load(machine, space, addresses, lanes, nbytes, atomic=False, align=None, into=None):
    """Bytes at `addresses` (uint64, one per entry of `lanes`) -> (n, nbytes) uint8; lanes outside read zeros.

    into: names of the registers that receive the bytes. They are watched if nobody wrote the bytes; without them,
    reading such bytes is reported at once.
    """
    _check_alignment(machine, addresses, lanes, align or nbytes)
    parts, outside = locate(machine, space, addresses, lanes, nbytes)
    report_outside(machine, space, addresses, lanes, outside, nbytes, "reads")
    whole = len(parts) == 1 and isinstance(parts[0][1], slice)
    rows = None if whole else np.zeros((len(addresses), nbytes), dtype=np.uint8)
    for buffer, positions, offsets, shared in parts:
        missing = buffer.unwritten(offsets, nbytes)
        if missing is not None:
            first = int(np.flatnonzero(missing)[0])
            place = describe(buffer, offsets[first] % machine.shared.stride if shared else offsets[first])
            message = f"reads {nbytes} bytes that nobody wrote: {place}"
            address = int(addresses[positions][first])
            if into is None:
                machine.find("uninitialised-read", message, int(lanes[positions][first]), address, int(missing.sum()))
            else:
                width = nbytes // len(into)
                for element, name in enumerate(into):
                    part = buffer.unwritten(offsets + element * width, width)
                    if part is not None:
                        machine.poison.begin([name], lanes[positions][part], (machine.current, message, address))
        if buffer.is_global:
            decoys = machine.global_races.read(machine, buffer, offsets, nbytes, lanes[positions], atomic=atomic)
            machine.lifetimes.dependent(buffer, lanes[positions], offsets, nbytes, "reads")
        if shared:
            machine.lifetimes.access(lanes[positions], offsets)
            machine.clocks.read(lanes[positions], offsets, nbytes, atomic)
        found = buffer.gather(offsets, nbytes)
        if buffer.is_global and decoys is not None:
            found[decoys] = machine.global_races.decoys.byte
        if not whole:
            rows[positions] = found
    rows = found if whole else rows
    _count(machine, space, "read", rows.size)
    if machine.profile:
        machine.profile.record(machine, _kind(parts), "read", addresses, lanes, nbytes)
    return rows


def look_for_constant(machine, buffer, lanes, offsets):
    """Find writes to memory that is to stay as it is. They are made: the kernel may put back what was there."""
    if buffer.read_only:
        message = f"writes to {describe(buffer, offsets[0])}, which no kernel is to change"
        machine.find("read-only", message, int(lanes[0]), buffer.base + int(offsets[0]), len(np.unique(lanes)))


def _same_but_for_rounding(a, b):
    """Which rows (n, nbytes) hold float32 that agree to nine bits, or to 16 of the largest: one sum, which each lane of
    a butterfly added in an order of its own, and of which little may be left. Triton lets all of them write it, and any
    will do."""
    if a.shape[1] % 4:
        return np.zeros(len(a), dtype=bool)
    a, b = (np.ascontiguousarray(rows).view(np.float32).astype(np.float64) for rows in (a, b))
    size = np.maximum(np.abs(a), np.abs(b))
    largest = np.max(size, initial=0.0, where=np.isfinite(size))
    bound = np.maximum(2.0**-9 * size, 2.0**-16 * largest)
    is_close = (size >= 2.0**-126) & (np.abs(a - b) <= bound)  # below that an integer, more likely
    are_lost = ~np.isfinite(a) & ~np.isfinite(b)  # an infinity in one order, NaN in another
    return (is_close | are_lost | (a == b)).all(axis=1)


def store(machine, space, addresses, lanes, rows, atomic=False, *, is_profiled=True):
    """Writes (n, nbytes) uint8 rows at `addresses`; lanes outside write nothing. is_profiled: at this instruction."""
    nbytes = rows.shape[1]
    _check_alignment(machine, addresses, lanes, nbytes)
    parts, outside = locate(machine, space, addresses, lanes, nbytes)
    report_outside(machine, space, addresses, lanes, outside, nbytes, "writes")
    for buffer, positions, offsets, shared in parts:
        mine = rows[positions]
        look_for_constant(machine, buffer, lanes[positions], offsets)
        if buffer.is_global:
            machine.global_races.write(machine, buffer, offsets, nbytes, lanes[positions], mine, atomic=atomic)
            machine.lifetimes.dependent(buffer, lanes[positions], offsets, nbytes, "writes")
        if shared:
            machine.lifetimes.access(lanes[positions], offsets)
            machine.clocks.write(lanes[positions], offsets, nbytes, atomic)
            machine.barriers.overwritten(offsets, nbytes)
        buffer.scatter(offsets, mine)
        machine.polls = 0 if not atomic else machine.polls
        if shared and not atomic:
            kept = buffer.gather(offsets, nbytes)
            lost = (kept != mine).any(axis=1)
            if lost.any():
                lost &= ~_same_but_for_rounding(kept, mine)
            if lost.any():
                first = int(np.flatnonzero(lost)[0])
                message = "several threads write different values to one shared memory address in one instruction"
                lane, address = int(lanes[positions][first]), int(addresses[positions][first])
                machine.find("race", message, lane, address, int(lost.sum()))
    _count(machine, space, "written", rows.size)
    if machine.profile and is_profiled:
        machine.profile.record(machine, _kind(parts), "written", addresses, lanes, nbytes)


def _kind(parts):
    return "shared" if any(shared for *_, shared in parts) else "global"


def _count(machine, space, direction, nbytes):
    key = f"{space.split('::')[0] or 'generic'}_bytes_{direction}"
    machine.report.counters[key] = machine.report.counters.get(key, 0) + nbytes


def _form(mods):
    """(space, element type, vector length) of ld and st; ordering and scope only matter between CTAs."""
    ordering = [mods.take(name) for name in ORDERING]
    [mods.take(name) for name in SCOPES]
    space = mods.take(*SPACES, default="generic")
    mods.skip(*_HINTS)
    count = int(mods.take("v2", "v4", "v8", default="v1")[1])
    kind = mods.type()
    mods.done()
    return space, kind, count, next((name for name in ordering if name), "weak")


def bind_ld(machine, instruction):
    space, kind, count, ordering = _form(Modifiers(instruction))
    destination, source = instruction.operands[:2]
    targets = destination.items if isinstance(destination, ptx.Vector) else (destination,)
    dtype = np.dtype(np.uint64 if kind == "b128" else NUMPY_TYPES[kind])
    nbytes = count * (16 if kind == "b128" else dtype.itemsize)
    if isinstance(source.base, ptx.Symbol) and source.base.name in machine.parameter_names:
        return _bind_parameter(machine, targets, kind, dtype, count, source)
    addresses_of = address_reader(machine, source)
    strong = ordering in ("acquire", "relaxed", "volatile", "mmio")
    registers = machine.registers
    first, last = machine.program.used_elements(instruction)
    targets, width = targets[first:last], nbytes // len(targets)
    arrays = [registers.target(target, kind) for target in targets]
    names = [target.name for target in targets]

    def step(lanes):
        index = lanes.index
        if strong:
            machine.poll(lanes)
        addresses = addresses_of(index)
        _check_alignment(machine, addresses, index, nbytes)
        start = addresses + np.uint64(first * width)
        rows = load(machine, space, start, index, len(targets) * width, strong, align=width, into=names)
        values = rows.view(dtype).reshape(len(index), -1)
        if kind == "b128":
            arrays[0][index] = values
            return
        for position, array in enumerate(arrays):
            if array is not None:
                array[index] = values[:, position]

    return step


def _bind_parameter(machine, targets, kind, dtype, count, source):
    """Kernel parameters do not change during a launch: the value is read once."""
    offset = (
        int(machine.registers.constants[source.base.name]) - mem.PARAMETER_WINDOW + source.base.offset + source.offset
    )
    values = machine.parameters.data[offset : offset + count * dtype.itemsize].copy().view(dtype)
    stores = [machine.registers.writer(target, kind) for target in targets]

    def step(lanes):
        for write, value in zip(stores, values, strict=True):
            write(value, lanes)

    return step


def bind_st(machine, instruction):
    space, kind, count, ordering = _form(Modifiers(instruction))
    strong = ordering in ("release", "relaxed", "volatile", "mmio")
    destination, source = instruction.operands[:2]
    addresses_of = address_reader(machine, destination)
    sources = source.items if isinstance(source, ptx.Vector) else (source,)
    readers = [machine.registers.reader(item, kind) for item in sources]
    dtype = np.dtype(np.uint64 if kind == "b128" else NUMPY_TYPES[kind])

    def step(lanes):
        index = lanes.index
        if kind == "b128":
            rows = np.ascontiguousarray(readers[0][index]).view(np.uint8)
        else:
            values = np.empty((len(index), count), dtype=dtype)
            for position, reader in enumerate(readers):
                values[:, position] = reader[index] if reader.ndim else reader
            rows = values.view(np.uint8)
        addresses = addresses_of(index)
        store(machine, space, addresses, index, rows, strong)
        if machine.poison:
            machine.poison.stored(
                sources,
                lanes,
                lambda some: (locate(machine, space, addresses_of(some), some, rows.shape[1])[0], rows.shape[1]),
            )

    return step
