"""PTX as data: modules, kernels, variables, instructions and operands."""

import functools
import itertools
import re
from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Register:
    name: str


@dataclass(frozen=True)
class Symbol:
    """A variable, parameter, function or label used as an operand."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Immediate:
    """`value` is a Python int, or the bit pattern of a floating literal of `bits` bits."""

    value: int
    float_bits: int = 0


@dataclass(frozen=True)
class Address:
    """`[base + offset]`, or `[base, {coordinates}]` of a tensor map (extra holds what follows the base)."""

    base: object
    offset: int = 0
    extra: tuple = ()


@dataclass(frozen=True)
class Vector:
    items: tuple


@dataclass(frozen=True)
class Pair:
    """`destination|predicate` of shfl.sync, elect.sync and setp."""

    first: object
    second: object


@dataclass(frozen=True)
class Negated:
    register: Register


@dataclass(frozen=True)
class Location:
    """Where an instruction comes from: the innermost Python frame, and the frames it was inlined at."""

    file: int
    line: int
    inlined_at: tuple = ()


@dataclass
class Instruction:
    opcode: str
    modifiers: tuple
    operands: tuple
    predicate: Register | None = None
    negated: bool = False
    location: Location | None = None
    text: str = ""

    @property
    def name(self):
        return ".".join((self.opcode, *self.modifiers))


@dataclass
class Variable:
    name: str
    space: str
    align: int
    element: str
    count: int
    values: list = field(default_factory=list)  # ints, or (symbol, offset)
    extern: bool = False

    @property
    def nbytes(self):
        return type_bytes(self.element) * self.count


@dataclass
class Kernel:
    name: str
    parameters: list
    registers: dict = field(default_factory=dict)  # name -> type
    variables: dict = field(default_factory=dict)  # name -> Variable, of the body
    instructions: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)  # name -> index of the instruction that follows it
    directives: dict = field(default_factory=dict)  # reqntid, maxntid, ... -> ints
    returns: list = field(default_factory=list)  # return parameters, of a device function

    @functools.cached_property
    def registers_used(self):
        """The names of the registers of each instruction: a set per instruction."""
        return [register_names(instruction) for instruction in self.instructions]

    @functools.cached_property
    def times_named(self):
        """Register name -> number of instructions that name it."""
        return Counter(itertools.chain.from_iterable(self.registers_used))


@dataclass
class Module:
    target: str = ""
    version: str = ""
    files: dict = field(default_factory=dict)
    variables: dict = field(default_factory=dict)
    kernels: dict = field(default_factory=dict)
    functions: dict = field(default_factory=dict)  # device functions that have a body


def register_names(instruction):
    """The names of all registers among its operands."""
    found, stack = set(), list(instruction.operands)
    while stack:
        operand = stack.pop()
        if isinstance(operand, Register):
            found.add(operand.name)
        elif isinstance(operand, Vector):
            stack.extend(operand.items)
        elif isinstance(operand, Pair):
            stack.extend((operand.first, operand.second))
        elif isinstance(operand, Negated):
            found.add(operand.register.name)
        elif isinstance(operand, Address):
            stack.extend((operand.base, *operand.extra))
    return found


@functools.cache
def type_bytes(name):
    """Bytes of a fundamental PTX type name such as `b32`; predicates count one."""
    if name == "pred":
        return 1
    digits = re.match(r"[a-z]+?(\d+)(x\d)?", name)
    bits = int(digits.group(1)) * (int(digits.group(2)[1]) if digits.group(2) else 1)
    return max(bits // 8, 1)
