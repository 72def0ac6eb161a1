"""Shuffles that come after every read before them, because they pass on what the reads found.

shfl.sync orders no memory: a value stored before it may be seen late. A read whose value goes into the shuffle is over,
however, when the other lanes go on, so that they may overwrite what was read. Looked for in kernels without branches.
"""

from . import ptx

_PLACES = {"param", "param::entry", "param::func"}


def _names(operands):
    return ptx.register_names(ptx.Instruction("", (), tuple(operands)))


def _written(instruction):
    first = instruction.operands[:1]
    return set() if not first or isinstance(first[0], ptx.Address) else _names(first)


def ends_reads(kernel, index):
    """Does the value of each load before instruction `index`, a shuffle, go into what it passes on?"""
    if any(instruction.opcode in ("bra", "call") for instruction in kernel.instructions):
        return False
    wanted = _names(kernel.instructions[index].operands[1:2])
    for instruction in reversed(kernel.instructions[:index]):
        written = _written(instruction)
        if instruction.opcode == "ld" and not _PLACES & set(instruction.modifiers) and not written & wanted:
            return False
        if written & wanted:
            if instruction.predicate is None:
                wanted -= written
            else:
                wanted |= _names([instruction.predicate])
            wanted |= _names(instruction.operands[1:])
    return True
