"""Typed views of registers and constants: how an instruction's operands become NumPy arrays, one element per lane."""

import numpy as np

from . import ptx
from .findings import UnsupportedInstruction

NUMPY_TYPES = {
    "pred": np.bool_,
    "b8": np.uint8, "u8": np.uint8, "s8": np.int8,
    "b16": np.uint16, "u16": np.uint16, "s16": np.int16, "f16": np.float16, "bf16": np.uint16,
    "b32": np.uint32, "u32": np.uint32, "s32": np.int32, "f32": np.float32, "tf32": np.uint32,
    "b64": np.uint64, "u64": np.uint64, "s64": np.int64, "f64": np.float64,
    "e4m3x2": np.uint16, "e5m2x2": np.uint16, "e4m3x4": np.uint32, "e5m2x4": np.uint32,
    "u16x2": np.uint32, "s16x2": np.uint32,
}  # fmt: skip
PAIR_TYPES = {"f16x2": np.float16, "bf16x2": np.uint16, "f32x2": np.float32}  # two elements per register
TYPES = set(NUMPY_TYPES) | set(PAIR_TYPES) | {"b128"}
_STORAGE = {1: np.bool_, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_LEFT_OVER = 0x7149F2CA_7149F2CA  # 1e30 in float32 and bfloat16, 1e4 in float16


READY, PARKED, WAITING, EXITED = 0, 1, 2, 3  # states of a lane; parked lanes wait for the rest of their warp
RESCHEDULE = -1  # outcome of a step that has set the program counters and states of its lanes itself


class Lanes:
    """The lanes that execute an instruction."""

    __slots__ = ("_index", "_whole_warps", "full", "mask")

    def __init__(self, mask, full=None):
        self.mask = mask
        self.full = bool(mask.all()) if full is None else full
        self._index = self._whole_warps = None

    @property
    def index(self):
        if self._index is None:
            self._index = np.flatnonzero(self.mask)
        return self._index

    @property
    def whole_warps(self):
        """Whether each warp is here with all of its lanes or with none."""
        if self._whole_warps is None:
            warps = self.mask.reshape(-1, 32)
            self._whole_warps = self.full or bool((warps == warps[:, :1]).all())
        return self._whole_warps

    def where(self, condition):
        return Lanes(self.mask & condition, None if self.full else False)

    def __bool__(self):
        return bool(self.mask.any())


class Modifiers:
    """The dotted suffixes of an instruction; whatever a rule does not take makes the instruction unsupported."""

    def __init__(self, instruction):
        self.instruction, self.left = instruction, list(instruction.modifiers)

    def take(self, *choices, default=None):
        for choice in choices:
            if choice in self.left:
                self.left.remove(choice)
                return choice
        return default

    def flag(self, name):
        return self.take(name) is not None

    def skip(self, *names):
        """Drops modifiers without an effect on results, such as cache hints; a name ending in * is a prefix."""
        for name in names:
            self.left = [m for m in self.left if not (m.startswith(name[:-1]) if name[-1] == "*" else m == name)]

    def types(self):
        found = [m for m in self.left if m in TYPES]
        self.left = [m for m in self.left if m not in TYPES]
        return found

    def type(self):
        found = self.types()
        if len(found) != 1:
            raise self.unsupported(f"types {found}")
        return found[0]

    def done(self):
        if self.left:
            raise self.unsupported("modifier ." + " .".join(self.left))

    def unsupported(self, what):
        return UnsupportedInstruction(f"{self.instruction.name}: {what} is not implemented in the simulator")


class RegisterFile:
    """Registers of all lanes of a wave. Arrays keep their identity, so bound instructions hold views of them."""

    def __init__(self, lanes, declared, constants):
        self.lanes, self.declared = lanes, declared
        self.arrays = {}
        self.constants = constants  # symbol -> address, an int or an array per lane
        self.special = {}

    def array(self, name):
        if name in self.special:
            return self.special[name]
        if name not in self.arrays:
            kind = self.declared.get(name)
            if kind is None:
                raise UnsupportedInstruction(f"special register {name} is not implemented in the simulator")
            bits = 1 if kind == "pred" else 8 * ptx.type_bytes(kind)
            if bits == 128:
                self.arrays[name] = np.repeat(_left_over(self.lanes, 64)[:, None], 2, axis=1)
            else:
                self.arrays[name] = _left_over(self.lanes, max(bits, 16) if bits > 1 else 1)
        return self.arrays[name]

    def reader(self, operand, kind):
        """The operand as an array or scalar of type `kind`; register arrays are live views."""
        if isinstance(operand, ptx.Register):
            return _view(self.array(operand.name), kind)
        if isinstance(operand, ptx.Immediate):
            return _constant(operand, kind)
        if isinstance(operand, ptx.Symbol):
            value = self.constants[operand.name]
            value = value + np.uint64(operand.offset) if isinstance(value, np.ndarray) else value + operand.offset
            return np.asarray(value, dtype=np.uint64).astype(NUMPY_TYPES[kind])
        raise UnsupportedInstruction(f"operand {operand} of type {kind} is not implemented in the simulator")

    def target(self, operand, kind):
        """The array to assign results of type `kind` to, so that they extend to the register's width; None for `_`."""
        if operand.name == "_":
            return None
        array = self.array(operand.name)
        if kind in PAIR_TYPES:
            return array.view(PAIR_TYPES[kind]).reshape(self.lanes, 2)
        if kind in ("b128", "pred"):
            return array
        dtype = np.dtype(NUMPY_TYPES[kind])
        if dtype.itemsize == array.dtype.itemsize:
            return array.view(dtype)
        if dtype.kind == "f":
            raise UnsupportedInstruction(
                f"a {kind} result in a {8 * array.dtype.itemsize}-bit register is not implemented"
            )
        return array.view(f"i{array.dtype.itemsize}") if dtype.kind == "i" else array

    def writer(self, operand, kind):
        """store(values, lanes)."""
        target = self.target(operand, kind)
        if target is None:
            return lambda values, lanes: None
        pairs = kind in PAIR_TYPES or kind == "b128"

        def store(values, lanes):
            if lanes.full:
                target[...] = values
            else:
                np.copyto(target, values, where=lanes.mask[:, None] if pairs else lanes.mask, casting="unsafe")

        return store


def _left_over(lanes, bits):
    """What a register holds before it is written: not zero, which an accumulator without a start would get away with,
    but large as an integer and in each format, and negative in every fourth lane, so that maxima and minima show it."""
    if bits == 1:
        return np.zeros(lanes, dtype=np.bool_)
    values = np.full(lanes, _LEFT_OVER >> (64 - bits), dtype=_STORAGE[bits])
    values[1::4] |= values.dtype.type(1 << (bits - 1))
    return values


def _view(array, kind):
    if kind == "pred" or kind == "b128":
        return array
    if kind in PAIR_TYPES:
        return array.view(PAIR_TYPES[kind]).reshape(len(array), -1)[:, :2]
    dtype = np.dtype(NUMPY_TYPES[kind])
    if dtype == array.dtype:
        return array
    if dtype.itemsize > array.dtype.itemsize:
        raise UnsupportedInstruction(
            f"reading {kind} from a {8 * array.dtype.itemsize}-bit register is not implemented"
        )
    if not array.flags.c_contiguous:
        return array.astype(dtype)
    ratio = array.dtype.itemsize // dtype.itemsize
    return array.view(dtype)[::ratio] if ratio > 1 else array.view(dtype)


def _constant(operand, kind):
    if kind == "pred":
        return np.bool_(operand.value)
    if kind in PAIR_TYPES:
        dtype = np.dtype(PAIR_TYPES[kind])
        raw = np.array(
            [operand.value & (1 << (16 * dtype.itemsize)) - 1], dtype=np.uint32 if dtype.itemsize == 2 else np.uint64
        )
        return raw.view(dtype)
    dtype = np.dtype(NUMPY_TYPES[kind])
    bits = 8 * dtype.itemsize
    if operand.float_bits and operand.float_bits != bits:
        source = np.array([operand.value], dtype=f"u{operand.float_bits // 8}").view(f"f{operand.float_bits // 8}")
        return source.astype(dtype)[0]
    raw = np.array([operand.value & ((1 << bits) - 1)], dtype=f"u{dtype.itemsize}")
    if dtype.kind == "f" and not operand.float_bits:
        raise UnsupportedInstruction(f"integer literal {operand.value} as {kind} is not implemented")
    return raw.view(dtype)[0]
