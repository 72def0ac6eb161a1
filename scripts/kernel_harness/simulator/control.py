"""Control flow, moves between registers, address conversion, and calls of the device runtime."""

import struct

import numpy as np

from . import access, copies, logic, ptx
from . import memory as mem
from .findings import UnsupportedInstruction
from .operands import NUMPY_TYPES, RESCHEDULE, Modifiers
from .synchronization import _values


def bind_nothing(machine, instruction):
    """Instructions that change neither values nor ordering: hints and prefetches."""
    return lambda lanes: None


def bind_bra(machine, instruction):
    target = machine.kernel.labels[instruction.operands[0].name]
    if instruction.predicate is None:
        return lambda lanes: target
    predicate = machine.registers.reader(instruction.predicate, "pred")
    negated = instruction.negated

    def step(lanes):
        taken = lanes.mask & (~predicate if negated else predicate)
        count = np.count_nonzero(taken)
        if count == 0:
            return None
        if count == np.count_nonzero(lanes.mask):
            return target
        machine.pc[lanes.mask] = machine.current + 1
        machine.pc[taken] = target
        if target <= machine.current:
            machine.spin(lanes)
        return RESCHEDULE

    return step


def bind_exit(machine, instruction):
    return machine.exit


def bind_trap(machine, instruction):
    def step(lanes):
        machine.find("trap", "the kernel executed trap", int(lanes.index[0]))
        machine.trapped = True
        return machine.exit(lanes)

    return step


def bind_griddepcontrol(machine, instruction):
    """.wait orders what follows after the kernels before this one; .launch_dependents changes nothing here."""
    if "wait" not in instruction.modifiers:
        return lambda lanes: None

    def step(lanes):
        machine.clocks.known[lanes.index, machine.clocks.grid_column] = 1

    return step


def bind_nanosleep(machine, instruction):
    return lambda lanes: machine.poll(lanes)


def bind_createpolicy(machine, instruction):
    write = machine.registers.writer(instruction.operands[0], "b64")
    return lambda lanes: write(np.uint64(0), lanes)


# Comparison ------------------------------------------------------------------------------------------------------

_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _comparison(machine, instruction):
    mods = Modifiers(instruction)
    combine = mods.take(*_COMBINE)
    compare, kind, before = logic.comparison(mods)
    mods.done()
    a = machine.registers.reader(instruction.operands[1], kind)
    b = machine.registers.reader(instruction.operands[2], kind)
    if combine:
        third = instruction.operands[3]
        negated = isinstance(third, ptx.Negated)
        c = machine.registers.reader(third.register if negated else third, "pred")
        return lambda: (compare(a, b), _COMBINE[combine], ~c if negated else c), before
    return lambda: (compare(a, b), None, None), before


def bind_setp(machine, instruction):
    evaluate, _ = _comparison(machine, instruction)
    destination = instruction.operands[0]
    if not isinstance(destination, ptx.Pair):
        write = machine.registers.writer(destination, "pred")

        def single(lanes):
            result, combine, c = evaluate()
            write(combine(result, c) if combine else result, lanes)

        return single
    pairs_of_halves = any(m in ("f16x2", "bf16x2") for m in instruction.modifiers)
    first, second = (machine.registers.writer(d, "pred") for d in (destination.first, destination.second))

    def both(lanes):
        result, combine, c = evaluate()
        if pairs_of_halves:
            first(result[:, 0], lanes)
            second(result[:, 1], lanes)
            return
        first(combine(result, c) if combine else result, lanes)
        second(combine(~result, c) if combine else ~result, lanes)

    return both


def bind_set(machine, instruction):
    evaluate, before = _comparison(machine, instruction)
    if any(kind.endswith("x2") for kind in (*before, *instruction.modifiers)):
        raise Modifiers(instruction).unsupported("packed set")
    write = machine.registers.writer(instruction.operands[0], before[0])
    true = NUMPY_TYPES[before[0]](1.0) if before[0] == "f32" else np.array(-1).astype(NUMPY_TYPES[before[0]])

    def step(lanes):
        result, combine, c = evaluate()
        result = combine(result, c) if combine else result
        write(np.where(result, true, NUMPY_TYPES[before[0]](0)), lanes)

    return step


# Moves -----------------------------------------------------------------------------------------------------------

_BITS = {8: "b8", 16: "b16", 32: "b32", 64: "b64"}


def bind_mov(machine, instruction):
    mods = Modifiers(instruction)
    kind = mods.type()
    mods.done()
    destination, source = instruction.operands
    registers = machine.registers
    if isinstance(destination, ptx.Vector):
        return _unpack(machine, destination.items, registers.reader(source, kind), kind)
    if isinstance(source, ptx.Vector):
        return _pack(machine, registers.writer(destination, kind), source.items, kind)
    if (isinstance(source, ptx.Register) and source.name.startswith("%clock")) or getattr(
        source, "name", ""
    ) == "%globaltimer":
        write = registers.writer(destination, kind)
        dtype = NUMPY_TYPES[kind]

        def tick(lanes):
            machine.ticks += 64
            write(dtype(machine.ticks), lanes)

        return tick
    value, write = registers.reader(source, kind), registers.writer(destination, kind)
    return lambda lanes: write(value, lanes)


def _unpack(machine, items, value, kind):
    if kind == "b128":
        writers = [machine.registers.writer(item, "b64") for item in items]
        return lambda lanes: [write(value[:, i], lanes) for i, write in enumerate(writers)] and None
    bits = int(kind[1:]) // len(items)
    writers = [machine.registers.writer(item, _BITS[bits]) for item in items]
    dtype = NUMPY_TYPES[_BITS[bits]]

    def step(lanes):
        for position, write in enumerate(writers):
            write((value >> value.dtype.type(position * bits)).astype(dtype), lanes)

    return step


def _pack(machine, write, items, kind):
    if kind == "b128":
        parts = [_values(machine, item, "b64") for item in items]
        return lambda lanes: write(np.stack(parts, axis=-1), lanes)
    bits = int(kind[1:]) // len(items)
    parts = [machine.registers.reader(item, _BITS[bits]) for item in items]
    dtype = NUMPY_TYPES[f"b{kind[1:]}"]

    def step(lanes):
        total = np.asarray(parts[0]).astype(dtype)
        for position, part in enumerate(parts[1:], 1):
            total = total | (np.asarray(part).astype(dtype) << dtype(position * bits))
        write(total, lanes)

    return step


_WINDOWS = {
    "shared": mem.SHARED_WINDOW,
    "shared::cta": mem.SHARED_WINDOW,
    "shared::cluster": mem.SHARED_WINDOW,
    "local": mem.LOCAL_WINDOW,
}


def bind_cvta(machine, instruction):
    mods = Modifiers(instruction)
    to = mods.flag("to")
    space = mods.take("global", "const", "param", "param::entry", *_WINDOWS)
    kind = mods.type()
    mods.done()
    base = np.uint64(_WINDOWS.get(space, 0))
    source = instruction.operands[1]
    value = (
        machine.registers.reader(source, kind)
        if not isinstance(source, ptx.Symbol)
        else machine.registers.reader(source, "u64")
    )
    write = machine.registers.writer(instruction.operands[0], kind)
    if space in ("param", "param::entry") and not to:  # a parameter's address has its window, but in a 32-bit register
        return lambda lanes: write(value | np.uint64(mem.PARAMETER_WINDOW), lanes)
    return (lambda lanes: write(value - base, lanes)) if to else (lambda lanes: write(value + base, lanes))


def bind_isspacep(machine, instruction):
    mods = Modifiers(instruction)
    space = mods.take("global", "const", "param", "param::entry", *_WINDOWS)
    mods.done()
    value = machine.registers.reader(instruction.operands[1], "u64")
    write = machine.registers.writer(instruction.operands[0], "pred")
    if space in _WINDOWS:
        return lambda lanes: write(value >> np.uint64(48) == np.uint64(_WINDOWS[space] >> 48), lanes)
    if space == "global":
        return lambda lanes: write(value < np.uint64(mem.SHARED_WINDOW), lanes)
    raise mods.unsupported(f".{space}")


def bind_mapa(machine, instruction):
    mods = Modifiers(instruction)
    shared = mods.flag("shared::cluster")
    kind = mods.type()
    mods.done()
    source = machine.registers.reader(instruction.operands[1], kind)
    rank = machine.registers.reader(instruction.operands[2], "u32")
    write = machine.registers.writer(instruction.operands[0], kind)
    dtype = NUMPY_TYPES[kind]
    keep = dtype(~(0xFF << mem.CTA_SHIFT) & (0xFFFFFFFF if kind.endswith("32") else 2**64 - 1))
    if not shared and kind.endswith("32"):
        raise mods.unsupported("a 32-bit generic address")
    return lambda lanes: write((source & keep) | (np.asarray(rank).astype(dtype) << dtype(mem.CTA_SHIFT)), lanes)


def bind_getctarank(machine, instruction):
    mods = Modifiers(instruction)
    mods.flag("shared::cluster")
    kind = mods.type()
    mods.done()
    source = machine.registers.reader(instruction.operands[1], kind)
    write = machine.registers.writer(instruction.operands[0], "u32")
    return lambda lanes: write(
        ((np.asarray(source) >> NUMPY_TYPES[kind](mem.CTA_SHIFT)) & NUMPY_TYPES[kind](0xFF)).astype(np.uint32), lanes
    )


def bind_store(machine, instruction):
    """st, and st.async, which signals an mbarrier."""
    return (
        copies.bind_st_async(machine, instruction)
        if "async" in instruction.modifiers
        else access.bind_st(machine, instruction)
    )


# Calls -----------------------------------------------------------------------------------------------------------


def bind_call(machine, instruction):
    """vprintf and __assertfail of the device runtime; compilers inline everything else that this reads."""
    names = [operand.name for operand in instruction.operands if isinstance(operand, ptx.Symbol)]
    arguments = [operand.items for operand in instruction.operands if isinstance(operand, ptx.Vector)]
    if names == ["vprintf"]:
        return lambda lanes: _printf(machine, lanes, arguments[-1])
    if names and names[0] in ("__assertfail", "__assert_fail"):
        return lambda lanes: _assert_fail(machine, lanes, arguments[-1])
    raise UnsupportedInstruction(f"call of {names} is not implemented in the simulator")


def _argument(machine, symbol, lane, nbytes):
    offset = int(machine.registers.constants[symbol.name])
    row = access.load(machine, "local", np.array([offset], dtype=np.uint64), np.array([lane]), nbytes)
    return int.from_bytes(row.tobytes(), "little")


def _bytes(machine, address, lane, nbytes):
    return access.load(
        machine, "generic", np.array([address], dtype=np.uint64), np.array([lane]), 1 if nbytes == 1 else nbytes
    ).tobytes()


def _string(machine, address, lane):
    result = b""
    while len(result) < 4096 and (byte := _bytes(machine, address + len(result), lane, 1)) != b"\0":
        result += byte
    return result.decode(errors="replace")


def _printf(machine, lanes, arguments):
    for lane in lanes.index:
        template = _string(machine, _argument(machine, arguments[0], lane, 8), lane)
        pointer = _argument(machine, arguments[1], lane, 8) if len(arguments) > 1 else 0
        machine.report.output.append(_format(machine, template, pointer, lane))


def _format(machine, template, pointer, lane):
    import re

    def replace(match):
        nonlocal pointer
        length, conversion = match.group(2) or "", match.group(3)
        if conversion == "%":
            return "%"
        size = 8 if conversion in "feEgGsp" or length in ("l", "ll", "j", "z") else 4
        pointer = -(-pointer // size) * size
        raw = _bytes(machine, pointer, lane, size)
        pointer += size
        if conversion in "feEgG":
            return f"%{match.group(1)}{conversion}" % struct.unpack("<d", raw)[0]
        if conversion == "s":
            return _string(machine, int.from_bytes(raw, "little"), lane)
        value = int.from_bytes(raw, "little", signed=conversion in "di")
        return (
            chr(value & 0xFF)
            if conversion == "c"
            else hex(value)
            if conversion == "p"
            else f"%{match.group(1)}{conversion.replace('u', 'd')}" % value
        )

    return re.sub(r"%([-+ #0]*\d*(?:\.\d+)?)(hh|h|ll|l|j|z)?([diuxXofeEgGcsp%])", replace, template)


def _assert_fail(machine, lanes, arguments):
    lane = int(lanes.index[0])
    message = _string(machine, _argument(machine, arguments[0], lane, 8), lane)
    machine.find("trap", f"a device assertion failed: {message}", lane)
    machine.trapped = True
    return machine.exit(lanes)
