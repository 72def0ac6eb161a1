"""Per-lane logic, shifts, bit fields, comparison and selection, in the form that arithmetic.py describes."""

import numpy as np

from . import numerics as nm
from .arithmetic import Operation, is_float
from .operands import NUMPY_TYPES


def _logic(operator):
    def build(mods):
        kind = mods.type()
        return Operation(kind, (kind, kind), operator)

    return build


bit_and, bit_or, bit_xor = _logic(np.bitwise_and), _logic(np.bitwise_or), _logic(np.bitwise_xor)


def bit_not(mods):
    kind = mods.type()
    return Operation(kind, (kind,), np.logical_not if kind == "pred" else np.bitwise_not)


def cnot(mods):
    kind = mods.type()
    return Operation(kind, (kind,), lambda a: (a == 0).astype(a.dtype))


def lop3(mods):
    mods.type()

    def function(a, b, c, table):
        table, result = int(np.ravel(table)[0]), np.zeros_like(np.broadcast_arrays(a, b, c)[0])
        for index in range(8):
            if table >> index & 1:
                result |= (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
        return result

    return Operation("b32", ("b32", "b32", "b32", "b32"), function)


def shl(mods):
    kind = mods.type()
    bits = 8 * np.dtype(NUMPY_TYPES[kind]).itemsize

    def function(a, count):
        return np.where(count < bits, a << np.minimum(count, bits - 1).astype(a.dtype), a.dtype.type(0))

    return Operation(kind, (kind, "u32"), function)


def shr(mods):
    kind = mods.type()
    bits = 8 * np.dtype(NUMPY_TYPES[kind]).itemsize

    def function(a, count):
        shifted = a >> np.minimum(count, bits - 1).astype(a.dtype)
        return shifted if kind[0] == "s" else np.where(count < bits, shifted, a.dtype.type(0))

    return Operation(kind, (kind, "u32"), function)


def shf(mods):
    direction, mode = mods.take("l", "r"), mods.take("clamp", "wrap")
    mods.type()

    def function(a, b, count):
        count = np.minimum(count, 32) if mode == "clamp" else count & np.uint32(31)
        both = a.astype(np.uint64) | (np.asarray(b).astype(np.uint64) << np.uint64(32))
        count = count.astype(np.uint64)
        if direction == "l":
            return (((both << count) >> np.uint64(32)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        return ((both >> count) & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    return Operation("b32", ("b32", "b32", "u32"), function)


def popc(mods):
    kind = mods.type()
    return Operation("u32", (kind,), lambda a: np.bitwise_count(a).astype(np.uint32))


def _leading_bit(a):
    """Position of the highest set bit of unsigned values, -1 for 0."""
    a = np.atleast_1d(np.asarray(a)).astype(np.uint64)
    position = np.full(a.shape, -1, dtype=np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        large = a >> np.uint64(shift) != 0
        position += np.where(large, shift, 0)
        a = np.where(large, a >> np.uint64(shift), a)
    return position + (a != 0)


def clz(mods):
    kind = mods.type()
    bits = int(kind[1:])
    return Operation("u32", (kind,), lambda a: (bits - 1 - _leading_bit(a)).astype(np.uint32))


def bfind(mods):
    shift_amount = mods.flag("shiftamt")
    kind = mods.type()
    bits = int(kind[1:])

    def function(a):
        if kind[0] == "s":
            a = np.where(a < 0, ~a, a).astype(f"u{bits // 8}")
        position = _leading_bit(a)
        if shift_amount:
            position = np.where(position >= 0, bits - 1 - position, -1)
        return position.astype(np.int64).astype(np.uint32)

    return Operation("u32", (kind,), function)


def brev(mods):
    kind = mods.type()
    bits = int(kind[1:])

    def function(a):
        result = np.zeros_like(a)
        for index in range(bits):
            result |= ((a >> a.dtype.type(index)) & a.dtype.type(1)) << a.dtype.type(bits - 1 - index)
        return result

    return Operation(kind, (kind,), function)


def bfe(mods):
    kind = mods.type()
    bits = int(kind[1:])

    def function(a, position, length):
        position, length = (position & np.uint32(0xFF)).astype(np.int64), (length & np.uint32(0xFF)).astype(np.int64)
        wide = np.asarray(a).astype(np.uint64)
        # Bits past the top read as the sign (signed) or zero; an empty field is zero.
        sign_at = np.minimum(position + length - 1, bits - 1)
        negative = (
            (kind[0] == "s") & (length > 0) & ((wide >> np.maximum(sign_at, 0).astype(np.uint64)) & np.uint64(1) != 0)
        )
        inside = np.clip(bits - position, 0, length)
        one, full = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
        mask = np.where(inside >= 64, full, (one << np.minimum(inside, 63).astype(np.uint64)) - one)
        field = np.where(position < bits, (wide >> np.minimum(position, 63).astype(np.uint64)) & mask, np.uint64(0))
        field = np.where(negative, field | ~mask, field)
        return field.astype(NUMPY_TYPES[kind])

    return Operation(kind, (kind, "u32", "u32"), function)


def bfi(mods):
    kind = mods.type()
    bits = int(kind[1:])

    def function(a, b, position, length):
        position, length = (position & np.uint32(0xFF)).astype(np.int64), (length & np.uint32(0xFF)).astype(np.int64)
        inside = np.clip(bits - position, 0, length)
        one, full = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
        mask = np.where(inside >= 64, full, (one << np.minimum(inside, 63).astype(np.uint64)) - one)
        shift = np.minimum(position, 63).astype(np.uint64)
        mask = np.where(position < bits, mask << shift, np.uint64(0))
        value = np.asarray(a).astype(np.uint64) << shift
        return ((np.asarray(b).astype(np.uint64) & ~mask) | (value & mask)).astype(NUMPY_TYPES[kind])

    return Operation(kind, (kind, kind, "u32", "u32"), function)


def prmt(mods):
    if set(mods.left) - {"b32"}:
        raise mods.unsupported("mode")
    mods.type()

    def function(a, b, selector):
        both = np.asarray(a).astype(np.uint64) | (np.asarray(b).astype(np.uint64) << np.uint64(32))
        selector = np.asarray(selector).astype(np.uint64)
        result = np.uint64(0)
        for byte in range(4):
            pick = (selector >> np.uint64(4 * byte)) & np.uint64(0xF)
            value = (both >> ((pick & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
            sign = np.where(value & np.uint64(0x80) != 0, np.uint64(0xFF), np.uint64(0))
            value = np.where(pick & np.uint64(8) != 0, sign, value)
            result = result | (value << np.uint64(8 * byte))
        return result.astype(np.uint32)

    return Operation("b32", ("b32", "b32", "b32"), function)


def sad(mods):
    kind = mods.type()
    return Operation(kind, (kind,) * 3, lambda a, b, c: c + np.where(a < b, b - a, a - b))


# Comparison and selection --------------------------------------------------------------------------------------

_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def comparison(mods):
    """setp and set: (function of two values, type of the values)."""
    name = mods.take(*_COMPARE, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    ftz = mods.flag("ftz")
    kinds = mods.types()
    kind = kinds[-1]

    def function(a, b):
        if kind.startswith("bf16"):
            a, b = nm.bf16_to_f32(a), nm.bf16_to_f32(b)
        elif ftz and kind == "f32":
            a, b = nm.flush(a), nm.flush(b)
        if name in _COMPARE:
            # Ordered: np.not_equal is the one comparison that is true for NaN.
            ordered = _COMPARE[name](a, b)
            return ordered & (a == a) & (b == b) if name == "ne" and is_float(kind) else ordered
        unordered = np.isnan(a) | np.isnan(b)
        return (
            {"num": ~unordered, "nan": unordered}[name]
            if name in ("num", "nan")
            else _COMPARE[name[:2]](a, b) | unordered
        )

    return function, kind, kinds[:-1]


def selp(mods):
    kind = mods.type()
    return Operation(kind, (kind, kind, "pred"), lambda a, b, p: np.where(p, a, b))


def slct(mods):
    mods.flag("ftz")
    kind, chooser = mods.types()
    return Operation(kind, (kind, kind, chooser), lambda a, b, c: np.where(c >= 0, a, b))


def dp2a(mods):
    """Two integers of 16 bits times the lower, or upper, two of four bytes."""
    shift = {"lo": 0, "hi": 16}[mods.take("lo", "hi")]
    a_kind, b_kind = mods.types()
    result = "u32" if a_kind == b_kind == "u32" else "s32"

    def function(a, b, c):
        halves, octets = (np.asarray(v).astype(np.uint32) for v in (a, b))
        total = np.asarray(c, dtype=np.int64)
        for i in (0, 1):
            half = (halves >> 16 * i).astype(np.uint16).view("i2" if a_kind == "s32" else "u2")
            octet = (octets >> shift + 8 * i).astype(np.uint8).view("i1" if b_kind == "s32" else "u1")
            total = total + half.astype(np.int64) * octet
        return total.astype(NUMPY_TYPES[result])

    return Operation(result, ("b32", "b32", result), function)


def dp4a(mods):
    a_kind, b_kind = mods.types()
    result = "u32" if a_kind == b_kind == "u32" else "s32"

    def function(a, b, c):
        lanes = [
            np.asarray(v).astype(np.uint32)[..., None].view("i1" if k == "s32" else "u1")
            for v, k in ((a, a_kind), (b, b_kind))
        ]
        return (np.sum(lanes[0].astype(np.int64) * lanes[1], axis=-1) + c).astype(NUMPY_TYPES[result])

    return Operation(result, ("b32", "b32", result), function)
