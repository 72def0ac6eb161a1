"""Extended-precision integers: add, sub and mad with a carry flag per thread. PTX ISA, "Extended-Precision Integer"."""

import numpy as np

from .arithmetic import mul
from .operands import NUMPY_TYPES, Modifiers
from .synchronization import _values


def bind_extended(machine, instruction):
    """add.cc, addc, sub.cc, subc, mad.cc, madc; .cc where the flag is written. The flag of sub is the borrow."""
    mods = Modifiers(instruction)
    writes, reads = mods.flag("cc"), instruction.opcode.endswith("c")
    name = instruction.opcode.rstrip("c") if reads else instruction.opcode
    part = mods.take("lo", "hi")
    kind = mods.type()
    mods.done()
    if kind[1:] not in ("32", "64"):
        raise mods.unsupported(kind)
    unsigned = NUMPY_TYPES[f"u{kind[1:]}"]
    sources = [_values(machine, operand, kind) for operand in instruction.operands[1:]]
    write = machine.registers.writer(instruction.operands[0], f"u{kind[1:]}")
    product = None
    if name == "mad":
        form = Modifiers(instruction)
        form.left = [part, kind]
        product = mul(form).function

    def step(lanes):
        a, b = sources[0].view(unsigned) if product is None else None, sources[-1].view(unsigned)
        if product is not None:
            a = product(sources[0], sources[1]).view(unsigned)
        flag = machine.carry.astype(unsigned) if reads else unsigned(0)
        if name == "sub":
            first = a - b
            result = first - flag
            out = (a < b) | (first < flag)
        else:
            first = a + b
            result = first + flag
            out = (first < a) | (result < first)
        write(result, lanes)
        if writes:
            np.copyto(machine.carry, out, where=lanes.mask)

    return step


def or_plain(plain):
    """The rule of an opcode that exists with and without the carry flag."""
    return lambda machine, instruction: (
        bind_extended(machine, instruction) if "cc" in instruction.modifiers else plain(machine, instruction)
    )
