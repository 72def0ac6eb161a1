"""Per-lane arithmetic, logic, comparison and conversion: modifiers in, `Operation` out.

Each function reads the modifiers of one opcode and returns the operand types and a pure NumPy function. The table in
semantics.py says which PTX ISA section each one follows.
"""

import functools
from dataclasses import dataclass

import numpy as np

from . import numerics as nm
from .operands import NUMPY_TYPES, PAIR_TYPES


@dataclass
class Operation:
    result: str
    sources: tuple
    function: object


def is_float(kind):
    return kind in ("f16", "bf16", "f32", "f64") or kind in PAIR_TYPES


def _float_form(mods, wide):
    """Turns a function of exact float64 values (`wide`, rounded to odd) into one of the instruction's type."""
    mode = mods.take("rn", "rz", "rm", "rp", default="rn")
    ftz, sat, relu = mods.flag("ftz"), mods.flag("sat"), mods.flag("relu")
    kind = mods.type()
    if mode != "rn" and kind not in ("f32", "f32x2"):
        raise mods.unsupported(f".{mode}")

    def function(*values):
        if kind in ("bf16", "bf16x2"):
            result = nm.wide_to_bf16(wide(*(nm.bf16_to_f32(v).astype(np.float64) for v in values)))
            shape = np.broadcast_shapes(*(np.shape(v) for v in values))
            result = np.broadcast_to(result.reshape(shape) if result.size > 1 else result, shape)
            return (
                np.where((result & 0x8000 != 0) & (result != 0x7FFF), 0, result).astype(np.uint16) if relu else result
            )
        if ftz and kind in ("f32", "f32x2"):
            values = [nm.flush(v) for v in values]
        result = wide(*(np.asarray(v, dtype=np.float64) for v in values))
        if kind in ("f32", "f32x2"):
            result = nm.round_float32(result, mode)
            result = nm.flush(result) if ftz else result
        elif kind != "f64":
            result = result.astype(np.float16)
        if sat:
            result = nm.saturate(result)
        if relu:
            result = np.where(result > 0, result, np.where(np.isnan(result), result, result.dtype.type(0)))
        return nm.canonical_nan(result)

    return kind, function


def _mixed(build, narrow):
    """`add.f32.bf16 d, a, c` and its like: the first ``narrow`` operands are 16-bit floats, widened exactly."""

    def wrapped(mods):
        halves = [m for m in mods.left if m in ("f16", "bf16")]
        if not halves or "f32" not in mods.left:
            return build(mods)
        mods.left.remove(halves[0])
        plain = build(mods)
        widen = nm.bf16_to_f32 if halves[0] == "bf16" else lambda a: np.asarray(a).astype(np.float32)
        return Operation(
            plain.result,
            (halves[0],) * narrow + plain.sources[narrow:],
            lambda *values: plain.function(*map(widen, values[:narrow]), *values[narrow:]),
        )

    return wrapped


def _native_float32(kind, mods_left, operator):
    """Single-precision round-to-nearest without modifiers is NumPy's own."""
    return (lambda a, b: nm.canonical_nan(operator(a, b))) if kind == "f32" and not mods_left else None


def _binary(integer, wide, native):
    def build(mods):
        if any(m in ("cc",) for m in mods.left):
            raise mods.unsupported(".cc")
        if any(is_float(m) for m in mods.left):
            plain = [m for m in mods.left if m not in ("rn",)] == ["f32"]
            if plain:
                mods.take("rn")
                mods.type()
                return Operation("f32", ("f32", "f32"), _native_float32("f32", [], native))
            kind, function = _float_form(mods, wide)
            return Operation(kind, (kind, kind), function)
        sat = mods.flag("sat")
        kind = mods.type()
        if sat:
            low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
            return Operation(
                kind, (kind, kind), lambda a, b: np.clip(integer(np.int64(a), np.int64(b)), low, high).astype(np.int32)
            )
        return Operation(kind, (kind, kind), _by_halves(integer, kind))

    return build


def _by_halves(operator, kind):
    """An operation on each of two integers of 16 bits in a register; on others itself."""
    if kind not in ("u16x2", "s16x2"):
        return operator
    dtype = np.int16 if kind == "s16x2" else np.uint16

    def function(*words):
        words = [np.asarray(word, dtype=np.uint32) for word in words]
        low, high = (operator(*((word >> shift).astype(np.uint16).view(dtype) for word in words)) for shift in (0, 16))
        return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << np.uint32(16)

    return function


def _f64_or_odd_sum(a, b):
    return nm.round_to_odd_sum(a, b)


add = _binary(np.add, _f64_or_odd_sum, np.add)
sub = _binary(np.subtract, lambda a, b: nm.round_to_odd_sum(a, -b), np.subtract)


def _add64(build, operator):
    """float64 sums are NumPy's own: rounding to odd is only a step towards narrower types."""

    def wrapped(mods):
        if "f64" in mods.left:
            mods.take("rn")
            kind = mods.type()
            return Operation(kind, (kind, kind), operator)
        return build(mods)

    return wrapped


add, sub = _mixed(_add64(add, np.add), 1), _mixed(_add64(sub, np.subtract), 1)


def mul(mods):
    if any(is_float(m) for m in mods.left):
        return _binary(None, np.multiply, np.multiply)(mods)
    part = mods.take("lo", "hi", "wide")
    kind = mods.type()
    bits = 8 * np.dtype(NUMPY_TYPES[kind]).itemsize
    if part == "lo":
        return Operation(kind, (kind, kind), np.multiply)
    if part == "wide":
        wide = f"{kind[0]}{2 * bits}"
        return Operation(wide, (kind, kind), lambda a, b: np.multiply(a, b, dtype=NUMPY_TYPES[wide]))
    return Operation(kind, (kind, kind), lambda a, b: _high(a, b, kind, bits))


def _high(a, b, kind, bits):
    if bits < 64:
        wide = np.int64 if kind[0] == "s" else np.uint64
        return (np.asarray(a, dtype=wide) * np.asarray(b, dtype=wide) >> wide(bits)).astype(NUMPY_TYPES[kind])
    ua, ub = np.asarray(a).astype(np.uint64), np.asarray(b).astype(np.uint64)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = ua & mask, ua >> half, ub & mask, ub >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    high = a1 * b1 + (middle >> half) + ((a0 * b1 + (middle & mask)) >> half)
    if kind[0] == "s":
        high = high - np.where(np.asarray(a) < 0, ub, np.uint64(0)) - np.where(np.asarray(b) < 0, ua, np.uint64(0))
        return high.astype(np.int64)
    return high


def mad(mods):
    if any(is_float(m) for m in mods.left):
        return fma(mods)
    if "cc" in mods.left or "sat" in mods.left:
        raise mods.unsupported(".cc or .sat")
    product = mul(mods)
    return Operation(product.result, (*product.sources, product.result), lambda a, b, c: product.function(a, b) + c)


def fma(mods):
    if "f64" in mods.left:
        mods.take("rn")
        mods.type()
        return Operation("f64", ("f64",) * 3, nm.fma64)
    kind, function = _float_form(mods, nm.fma_wide)
    return Operation(kind, (kind,) * 3, function)


fma = _mixed(fma, 2)


def mad24(mods):
    mods.take("lo")
    kind = mods.type()
    mask = (1 << 24) - 1
    if kind != "u32":
        raise mods.unsupported(kind)
    return Operation(kind, (kind,) * 3, lambda a, b, c: (a & mask) * (b & mask) + c)


def _divide_approximately(a, b):
    """div.approx multiplies by a reciprocal, which is zero for |b| above 2**126."""
    return np.where(np.abs(b) > 2.0**126, a * np.copysign(0.0, b), a / b)


def div(mods):
    if any(is_float(m) for m in mods.left):
        approximate = mods.take("approx", "full")
        if approximate or "f32" in mods.left:
            kind, function = _float_form(mods, _divide_approximately if approximate == "approx" else np.divide)
            return Operation(kind, (kind, kind), function)
        mods.take("rn")
        kind = mods.type()
        return Operation(kind, (kind, kind), np.divide)
    kind = mods.type()

    def function(a, b):
        a, b = np.broadcast_arrays(a, b)
        ones = a.dtype.type(-1) if a.dtype.kind == "i" else np.iinfo(a.dtype).max
        safe = np.where(b == 0, a.dtype.type(1), b)
        quotient = a // safe
        if a.dtype.kind == "i":  # towards zero
            quotient = np.where((quotient < 0) & (quotient * safe != a), quotient + 1, quotient)
        return np.where(b == 0, ones, quotient)

    return Operation(kind, (kind, kind), function)


def rem(mods):
    kind = mods.type()

    def function(a, b):
        safe = np.where(b == 0, a.dtype.type(1), b)
        ones = a.dtype.type(-1) if a.dtype.kind == "i" else np.iinfo(a.dtype).max  # what the hardware gives for b = 0
        return np.where(b == 0, ones, np.fmod(a, safe))

    return Operation(kind, (kind, kind), function)


def _unary_float(wide):
    def build(mods):
        mods.take("approx", "full")
        if "f64" in mods.left:
            mods.take("rn")
            mods.flag("ftz")
            mods.type()
            return Operation("f64", ("f64",), wide)
        kind, function = _float_form(mods, wide)
        return Operation(kind, (kind,), function)

    return build


rcp = _unary_float(lambda a: 1.0 / a)
sqrt = _unary_float(np.sqrt)
rsqrt = _unary_float(lambda a: 1.0 / np.sqrt(a))
ex2 = _unary_float(np.exp2)
lg2 = _unary_float(np.log2)
sin = _unary_float(np.sin)
cos = _unary_float(np.cos)
tanh = _unary_float(np.tanh)


_HALVES = {"f16": 0x7C00, "bf16": 0x7F80, "f16x2": 0x7C00, "bf16x2": 0x7F80}  # magnitudes above these are NaN


def _sign_operation(change):
    """neg and abs: `change(bits, sign bit)` on the bit pattern; a NaN of 16 bits becomes the hardware's one NaN."""

    def build(mods):
        ftz = mods.flag("ftz")
        kind = mods.type()
        if kind[0] == "s":
            return Operation(kind, (kind,), np.negative if change is np.bitwise_xor else np.abs)
        if kind in _HALVES:
            limit = np.uint16(_HALVES[kind])

            def halves(a):
                bits = a.view(np.uint16)
                magnitude = bits & np.uint16(0x7FFF)
                return np.where(magnitude > limit, nm.F16_NAN, change(bits, np.uint16(0x8000))).astype(np.uint16)

            storage = "b16" if not kind.endswith("x2") else "bf16x2"
            return Operation(storage, (storage,), halves)
        dtype, sign = (np.uint32, 1 << 31) if kind == "f32" else (np.uint64, 1 << 63)
        bits = f"b{kind[1:]}"
        if ftz:
            return Operation("f32", ("f32",), lambda a: nm.flush(change(a.view(dtype), dtype(sign)).view(np.float32)))
        return Operation(bits, (bits,), lambda a: change(a, dtype(sign)))

    return build


neg = _sign_operation(np.bitwise_xor)
absolute = _sign_operation(lambda bits, sign: bits & ~sign)


def _min_max(largest):
    def build(mods):
        if not any(is_float(m) for m in mods.left):
            relu = mods.flag("relu")
            kind = mods.type()
            pick = np.maximum if largest else np.minimum
            function = (lambda a, b: np.maximum(pick(a, b), a.dtype.type(0))) if relu else pick
            return Operation(kind, (kind, kind), _by_halves(function, kind))
        ftz, propagate, xorsign = mods.flag("ftz"), mods.flag("NaN"), mods.flag("xorsign")
        if mods.flag("abs") != xorsign:
            raise mods.unsupported(".abs without .xorsign")
        kind = mods.type()
        bf16 = kind.startswith("bf16")

        def function(*values):
            if bf16:
                values = [nm.bf16_to_f32(v) for v in values]
            elif ftz and kind == "f32":
                values = [nm.flush(v) for v in values]
            negative_result = functools.reduce(np.logical_xor, [np.signbit(v) for v in values])
            values = [np.abs(v) for v in values] if xorsign else values
            result = values[0]
            for value in values[1:]:
                picked = (np.fmax if largest else np.fmin)(result, value)
                if propagate:
                    picked = np.where(np.isnan(result) | np.isnan(value), result.dtype.type(np.nan), picked)
                # Equal values are ordered by sign: -0 < +0.
                zeros = (result == 0) & (value == 0)
                if np.any(zeros):
                    negative = (
                        np.signbit(result) & np.signbit(value) if largest else np.signbit(result) | np.signbit(value)
                    )
                    zero = picked.dtype.type(0)
                    picked = np.where(zeros, np.where(negative, -zero, zero), picked)
                result = picked
            if xorsign:
                result = np.where(negative_result, -result, result)
            return nm.f32_to_bf16(result) if bf16 else nm.canonical_nan(result)

        count = len(mods.instruction.operands) - 1
        return Operation(kind, (kind,) * count, function)

    return build


minimum, maximum = _min_max(False), _min_max(True)


def copysign(mods):
    kind = mods.type()
    return Operation(kind, (kind, kind), lambda a, b: np.copysign(b, a))


def testp(mods):
    test = mods.take("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    kind = mods.type()
    tiny = np.finfo(NUMPY_TYPES[kind]).tiny
    functions = {
        "finite": np.isfinite, "infinite": np.isinf, "number": lambda a: ~np.isnan(a), "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= tiny), "subnormal": lambda a: (np.abs(a) < tiny) & (a != 0),
    }  # fmt: skip
    return Operation("pred", (kind,), functions[test])
