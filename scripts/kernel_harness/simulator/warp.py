"""Warp-wide instructions: shuffles, votes, reductions, election, matrix loads and stores, and mma.sync."""

import numpy as np

from . import numerics as nm
from . import ptx
from .access import address_reader, load, store
from .arithmetic import Operation  # noqa: F401  (the form that the plain table entries return)
from .exchanges import ends_reads
from .operands import Modifiers
from .synchronization import _values

ALL = 0xFFFFFFFF


def _row_of(machine):
    return np.arange(machine.count) // 32 * 32


def bind_shfl(machine, instruction):
    mods = Modifiers(instruction)
    mods.flag("sync")
    mode = mods.take("up", "down", "bfly", "idx")
    mods.take("b32")
    mods.done()
    destination, source, offset, clamp, members = instruction.operands
    pair = isinstance(destination, ptx.Pair)
    write = machine.registers.writer(destination.first if pair else destination, "b32")
    write_predicate = machine.registers.writer(destination.second, "pred") if pair else None
    source, members = _values(machine, source, "b32"), machine.registers.reader(members, "b32")
    offset, clamp = machine.registers.reader(offset, "u32"), machine.registers.reader(clamp, "u32")
    lane, row = machine.lane_id, _row_of(machine)
    ends = ends_reads(machine.kernel, machine.current)

    def execute(lanes):
        if ends and lanes.whole_warps:
            machine.clocks.end_reads(lanes.index)
        b, c = (np.asarray(offset) & np.uint32(31)).astype(np.int64), np.asarray(clamp).astype(np.int64)
        bound, segment = c & 31, c >> 8 & 31
        highest = (lane & segment) | (bound & ~segment)
        if mode == "up":
            chosen = lane - b
            inside = chosen >= highest
        elif mode == "down":
            chosen = lane + b
            inside = chosen <= highest
        elif mode == "bfly":
            chosen = lane ^ b
            inside = chosen <= highest
        else:
            chosen = (lane & segment) | (b & ~segment)
            inside = chosen <= highest
        values = source[row + np.where(inside, chosen, lane)]
        write(values, lanes)
        if write_predicate:
            write_predicate(inside, lanes)

    return lambda lanes: machine.collective(lanes, members, execute)


def _ballot(machine, lanes, predicate):
    """One 32-bit mask per warp of the executing lanes whose predicate holds."""
    bits = (lanes.mask & predicate).reshape(-1, 32)
    return (bits.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32)


def bind_vote(machine, instruction):
    mods = Modifiers(instruction)
    mods.flag("sync")
    mode = mods.take("all", "any", "uni", "ballot")
    kind = mods.type()
    mods.done()
    destination, source, members = instruction.operands
    negated = isinstance(source, ptx.Negated)
    predicate = _values(machine, source.register if negated else source, "pred")
    write = machine.registers.writer(destination, kind)
    members = machine.registers.reader(members, "b32")

    def execute(lanes):
        ballot = _ballot(machine, lanes, ~predicate if negated else predicate)
        present = _ballot(machine, lanes, True)
        result = {
            "ballot": ballot,
            "all": ballot == present,
            "any": ballot != 0,
            "uni": (ballot == present) | (ballot == 0),
        }[mode]
        write(np.repeat(result, 32), lanes)

    return lambda lanes: machine.collective(lanes, members, execute)


def bind_activemask(machine, instruction):
    write = machine.registers.writer(instruction.operands[0], "b32")
    return lambda lanes: write(np.repeat(_ballot(machine, lanes, True), 32), lanes)


def bind_match(machine, instruction):
    mods = Modifiers(instruction)
    mode, _ = mods.take("any", "all"), mods.flag("sync")
    kind = mods.type()
    mods.done()
    destination, source, members = instruction.operands
    pair = isinstance(destination, ptx.Pair)
    write = machine.registers.writer(destination.first if pair else destination, "b32")
    write_predicate = machine.registers.writer(destination.second, "pred") if pair else None
    source, members = _values(machine, source, kind), machine.registers.reader(members, "b32")

    def execute(lanes):
        rows = source.reshape(-1, 32)
        active = lanes.mask.reshape(-1, 32)
        same = (rows[:, :, None] == rows[:, None, :]) & active[:, None, :] & active[:, :, None]
        masks = (same.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=2).astype(np.uint32)
        if mode == "all":
            everyone = np.repeat(_ballot(machine, lanes, True), 32).reshape(-1, 32)
            agreed = masks == everyone
            masks = np.where(agreed, masks, np.uint32(0))
            if write_predicate:
                write_predicate(agreed.ravel(), lanes)
        write(masks.ravel(), lanes)

    return lambda lanes: machine.collective(lanes, members, execute)


def bind_redux(machine, instruction):
    mods = Modifiers(instruction)
    mods.flag("sync")
    mode = mods.take("add", "min", "max", "and", "or", "xor")
    absolute, propagate = mods.flag("abs"), mods.flag("NaN")
    kind = mods.type()
    mods.done()
    destination, source, members = instruction.operands
    write = machine.registers.writer(destination, kind)
    source, members = _values(machine, source, kind), machine.registers.reader(members, "b32")
    reducers = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    if kind == "f32" and not propagate:
        reducers |= {"min": np.fmin, "max": np.fmax}

    def execute(lanes):
        rows, active = (np.abs(source) if absolute else source).reshape(-1, 32), lanes.mask.reshape(-1, 32)
        result = np.zeros(len(rows), dtype=rows.dtype)
        for warp in np.flatnonzero(active.any(axis=1)):
            result[warp] = reducers[mode].reduce(rows[warp][active[warp]], dtype=rows.dtype)
        write(np.repeat(result, 32), lanes)

    return lambda lanes: machine.collective(lanes, members, execute)


def bind_elect(machine, instruction):
    mods = Modifiers(instruction)
    mods.flag("sync")
    mods.done()
    destination, members = instruction.operands
    write = machine.registers.writer(destination.first, "b32")
    write_predicate = machine.registers.writer(destination.second, "pred")
    members = machine.registers.reader(members, "b32")

    def execute(lanes):
        leader = np.repeat(lanes.mask.reshape(-1, 32).argmax(axis=1), 32)
        write(leader.astype(np.uint32), lanes)
        write_predicate(machine.lane_id == leader, lanes)

    return lambda lanes: machine.collective(lanes, members, execute)


# Matrix fragments ------------------------------------------------------------------------------------------------


def _matrix_form(mods):
    mods.flag("sync")
    mods.flag("aligned")
    shape = mods.take("m8n8", "m16n8", "m16n16")
    count = int(mods.take("x1", "x2", "x4")[1])
    transposed = mods.flag("trans")
    mods.take("shared", "shared::cta")
    kind = mods.take("b16", "b8")
    mods.done()
    if shape != "m8n8" or kind != "b16":
        raise mods.unsupported(f".{shape}.{kind}")
    return count, transposed


def _row_addresses(machine, addresses, lanes, count):
    """Lane i of a warp names row i % 8 of matrix i // 8: the lanes and addresses of the rows that are used."""
    index = lanes.index
    rows = index[machine.lane_id[index] < 8 * count]
    return rows, addresses(rows)


def bind_ldmatrix(machine, instruction):
    count, transposed = _matrix_form(Modifiers(instruction))
    destination, source = instruction.operands
    items = destination.items if isinstance(destination, ptx.Vector) else (destination,)
    targets = [machine.registers.array(item.name) for item in items]
    addresses_of = address_reader(machine, source)

    def execute(lanes):
        rows, addresses = _row_addresses(machine, addresses_of, lanes, count)
        data = load(machine, "shared", addresses, rows, 16).view(np.uint16).reshape(-1, count, 8, 8)
        if transposed:
            data = data.swapaxes(2, 3)
        fragments = np.ascontiguousarray(data).reshape(-1, count, 32, 2).view(np.uint32)[..., 0]
        for position, target in enumerate(targets):
            target[lanes.index] = fragments[:, position].ravel()

    return lambda lanes: machine.collective(lanes, ALL, execute)


def bind_stmatrix(machine, instruction):
    count, transposed = _matrix_form(Modifiers(instruction))
    destination, source = instruction.operands
    items = source.items if isinstance(source, ptx.Vector) else (source,)
    sources = [_values(machine, item, "b32") for item in items]
    addresses_of = address_reader(machine, destination)

    def execute(lanes):
        rows, addresses = _row_addresses(machine, addresses_of, lanes, count)
        data = np.stack([s[lanes.index].reshape(-1, 32) for s in sources], axis=1)
        data = np.ascontiguousarray(data).view(np.uint16).reshape(-1, count, 8, 8)
        if transposed:
            data = data.swapaxes(2, 3)
        store(machine, "shared", addresses, rows, np.ascontiguousarray(data).reshape(-1, 8).view(np.uint8))

    return lambda lanes: machine.collective(lanes, ALL, execute)


def bind_movmatrix(machine, instruction):
    mods = Modifiers(instruction)
    mods.skip("sync", "aligned", "m8n8", "trans", "b16")
    mods.done()
    write, source = (
        machine.registers.array(instruction.operands[0].name),
        _values(machine, instruction.operands[1], "b32"),
    )

    def execute(lanes):
        data = np.ascontiguousarray(source[lanes.index]).view(np.uint16).reshape(-1, 8, 8).swapaxes(1, 2)
        write[lanes.index] = np.ascontiguousarray(data).reshape(-1, 2).view(np.uint32)[:, 0]

    return lambda lanes: machine.collective(lanes, ALL, execute)


ELEMENT_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "f64": 64}


def to_float(bits, kind):
    """Raw elements of a matrix operand -> float32 (integers: int32) values."""
    if kind == "f16":
        return bits.view(np.float16).astype(np.float32)
    if kind == "bf16":
        return nm.bf16_to_f32(bits)
    if kind == "tf32":
        return (bits & np.uint32(0xFFFFE000)).view(np.float32)
    if kind in nm.FP8_VALUES:
        return nm.fp8_to_f32(bits, kind)
    return bits.view(np.int8).astype(np.int32) if kind == "s8" else bits.astype(np.int32)


def fragment(sources, index, bits):
    """Registers of a fragment -> (warps, 32, elements) in order of register, then position in it."""
    dtype = {8: np.uint8, 16: np.uint16, 32: np.uint32}[bits]
    data = np.stack([source[index] for source in sources], axis=-1)  # (lanes, registers)
    return np.ascontiguousarray(data).view(dtype).reshape(len(index) // 32, 32, -1)


def positions(kind, m_or_n, k, operand):
    """(row, column) of each element of a lane's fragment: A is (m, k), B is (n, k), C is (m, n)."""
    lane = np.arange(32)
    group, member = lane[:, None] // 4, lane[:, None] % 4
    if operand == "c":
        element = np.arange(4)[None]
        return group + 8 * (element // 2), member * 2 + element % 2
    per = 32 // ELEMENT_BITS[kind]  # elements per register
    registers = (m_or_n * k // 32) // per
    element = np.arange(registers * per)[None]
    register, inside = element // per, element % per
    if operand == "a":
        row, column = group + 8 * (register % 2), member * per + inside + 4 * per * (register // 2)
        return (row, column) if m_or_n == 16 else (group + 0 * register, member * per + inside + 4 * per * register)
    return group + 0 * register, member * per + inside + 4 * per * register


def bind_mma(machine, instruction):
    mods = Modifiers(instruction)
    mods.skip("sync", "aligned", "row", "col")
    saturates = mods.flag("satfinite")
    shape = next((m for m in mods.left if m.startswith("m16n8k")), None)
    if shape is None or any(m in mods.left for m in ("sp", "block_scale", "kind::mxf8f6f4")):
        raise mods.unsupported("shape or kind")
    mods.left.remove(shape)
    kinds = list(mods.left)
    k = int(shape.split("k")[1])
    if len(kinds) != 4 or kinds[1] not in ELEMENT_BITS or kinds[1] == "f64":
        raise mods.unsupported(f"types {kinds}")
    _, a_kind, b_kind, _ = kinds
    vectors = [operand.items for operand in instruction.operands]
    sources = [[_values(machine, item, "b32") for item in vector] for vector in vectors[1:4]]
    targets = [machine.registers.array(item.name) for item in vectors[0]]
    a_at, b_at, c_at = positions(a_kind, 16, k, "a"), positions(b_kind, 8, k, "b"), positions(None, 0, 0, "c")
    execute = multiplier(sources, targets, (a_at, b_at, c_at), (16, 8, k), kinds, saturates)
    return lambda lanes: machine.collective(lanes, ALL, execute)


_SUM_TYPES = {"f16": np.float16, "f32": np.float32, "s32": np.int32}


def multiplier(sources, targets, places, shape, kinds, saturates):
    """execute(lanes) of D = A B + C: registers of A, B and C, and of D; the places of a lane's elements; (m, n, k);
    the types of D, A, B and C."""
    (m, n, k), (a_at, b_at, c_at), (d_kind, a_kind, b_kind, c_kind) = shape, places, kinds
    wide = np.int64 if a_kind in ("s8", "u8") else np.float64

    def execute(lanes):
        index = lanes.index
        warps = len(index) // 32
        a, b = np.zeros((warps, m, k), dtype=wide), np.zeros((warps, n, k), dtype=wide)
        a[:, a_at[0], a_at[1]] = to_float(fragment(sources[0], index, ELEMENT_BITS[a_kind]), a_kind)
        b[:, b_at[0], b_at[1]] = to_float(fragment(sources[1], index, ELEMENT_BITS[b_kind]), b_kind)
        c_raw = fragment(sources[2], index, 16 if c_kind == "f16" else 32)
        result = (a @ b.swapaxes(1, 2))[:, c_at[0], c_at[1]] + c_raw.view(_SUM_TYPES[c_kind])
        result = nm.as_int32(result, saturates) if d_kind == "s32" else result.astype(_SUM_TYPES[d_kind])
        registers = np.ascontiguousarray(result).reshape(warps * 32, -1).view(np.uint32)
        for position, target in enumerate(targets):
            target[index] = registers[:, position]

    return execute
