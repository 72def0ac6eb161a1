"""Calls of device functions: their bodies take the place of the call, so that the executor knows no call stack."""

import dataclasses

from . import ptx
from .findings import UnsupportedInstruction

_MOST_CALLS = 2000  # beyond this the functions call themselves


def callee(instruction):
    """The function that a call names, or None."""
    names = [operand.name for operand in instruction.operands if isinstance(operand, ptx.Symbol)]
    return names[0] if instruction.opcode == "call" and names else None


def expand(kernel, functions):
    """Replaces the kernel's calls of `functions` (name -> Kernel with `returns`) by their bodies, in place."""
    for number in range(_MOST_CALLS):
        position = next((i for i, item in enumerate(kernel.instructions) if callee(item) in functions), None)
        if position is None:
            return
        _splice(kernel, position, functions[callee(kernel.instructions[position])], f"call{number}.")
    raise UnsupportedInstruction(f"kernel {kernel.name} has recursive calls, which the simulator does not implement")


def _splice(kernel, position, function, prefix):
    call = kernel.instructions[position]
    vectors = [operand.items for operand in call.operands if isinstance(operand, ptx.Vector)]
    given = [item for vector in vectors for item in vector]
    formal = [*function.returns, *function.parameters]
    if call.predicate is not None or len(given) != len(formal) or any(not isinstance(i, ptx.Symbol) for i in given):
        raise UnsupportedInstruction(f"this form of a call is not implemented in the simulator: {call.text}")
    names = {parameter.name: actual.name for parameter, actual in zip(formal, given, strict=True)}
    names |= {name: prefix + name for name in (*function.labels, *function.variables)}
    end = prefix + "return"

    def renamed(operand):
        if isinstance(operand, ptx.Register):
            return ptx.Register(prefix + operand.name) if operand.name in function.registers else operand
        if isinstance(operand, ptx.Symbol):
            return ptx.Symbol(names.get(operand.name, operand.name), operand.offset)
        if isinstance(operand, ptx.Address):
            return ptx.Address(renamed(operand.base), operand.offset, tuple(renamed(item) for item in operand.extra))
        if isinstance(operand, ptx.Vector):
            return ptx.Vector(tuple(renamed(item) for item in operand.items))
        if isinstance(operand, ptx.Pair):
            return ptx.Pair(renamed(operand.first), renamed(operand.second))
        return ptx.Negated(renamed(operand.register)) if isinstance(operand, ptx.Negated) else operand

    body = []
    for item in function.instructions:
        leaves = item.opcode == "ret"
        operands = (ptx.Symbol(end),) if leaves else tuple(renamed(operand) for operand in item.operands)
        opcode, modifiers = ("bra", ()) if leaves else (item.opcode, item.modifiers)
        predicate = renamed(item.predicate) if item.predicate else None
        body.append(
            dataclasses.replace(item, opcode=opcode, modifiers=modifiers, operands=operands, predicate=predicate)
        )
    grown = len(body) - 1
    kernel.labels = {name: index + (grown if index > position else 0) for name, index in kernel.labels.items()}
    kernel.labels |= {prefix + name: position + index for name, index in function.labels.items()}
    kernel.labels[end] = position + len(body)
    kernel.instructions[position : position + 1] = body
    kernel.registers |= {prefix + name: kind for name, kind in function.registers.items()}
    for name, variable in function.variables.items():
        kernel.variables[prefix + name] = dataclasses.replace(variable, name=prefix + name)
