"""Number formats and roundings that NumPy lacks: bfloat16, FP8, TF32, directed rounding, fused multiply-add.

Every function is vectorised and pure. Formats without a NumPy type travel as their bit patterns (uint16, uint8).
"""

from fractions import Fraction

import numpy as np

F32_NAN = np.uint32(0x7FFFFFFF)  # the NaN that the hardware generates
F16_NAN = np.uint16(0x7FFF)


def canonical_nan(values):
    """Results with the NaN that the hardware generates, for float32 and float16; other types pass through."""
    if values.dtype in (np.float32, np.float16):
        bad = values != values
        if bad.any():
            bits = values.view(np.uint32 if values.dtype == np.float32 else np.uint16)
            nan = F32_NAN if values.dtype == np.float32 else F16_NAN
            return np.where(bad, nan, bits).view(values.dtype)
    return values


def flush(values):
    """Subnormal float32 values become zeros of the same sign (.ftz)."""
    tiny = np.abs(values) < np.float32(2.0**-126)
    return np.where(tiny, np.copysign(np.float32(0), values), values) if np.any(tiny) else values


def saturate(values):
    """Clamps to [0, 1]; NaN becomes 0 (.sat)."""
    zero, one = values.dtype.type(0), values.dtype.type(1)
    return np.where(values > 0, np.minimum(values, one), zero)


def round_to_odd_sum(a, b):
    """a + b of float64 arrays, rounded to odd, so that a later rounding to a narrower type is correct."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    inexact = (error != 0) & np.isfinite(total)
    if not np.any(inexact):
        return total
    bits = np.atleast_1d(total).view(np.int64)
    even = np.atleast_1d(inexact) & ((bits & 1) == 0)
    # Away from zero if the exact sum is larger in magnitude than the rounded one, else towards zero.
    grows = (np.atleast_1d(error) > 0) == (np.atleast_1d(total) > 0)
    bits = np.where(even, np.where(grows, bits + 1, bits - 1), bits)
    return bits.view(np.float64).reshape(np.shape(total))


def fma(a, b, c):
    """a * b + c rounded once, for float32 and float16 arrays."""
    wide = round_to_odd_sum(np.multiply(a, b, dtype=np.float64), np.asarray(c, dtype=np.float64))
    return wide.astype(np.result_type(a, b, c))


def fma_wide(a, b, c):
    """The float64 round-to-odd value of a * b + c for narrow inputs given as float64 (products must be exact)."""
    return round_to_odd_sum(a * b, c)


def fma64(a, b, c):
    """Correctly rounded float64 fma, one element at a time (rare in kernels)."""
    a, b, c = np.broadcast_arrays(a, b, c)
    result = a * b + c
    exact = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & np.isfinite(result)
    for index in np.argwhere(exact):
        index = tuple(index)
        value = Fraction(float(a[index])) * Fraction(float(b[index])) + Fraction(float(c[index]))
        if value:
            result[index] = float(value)
    return result


def round_float32(wide, mode):
    """float64 (exact or rounded to odd) -> float32 in mode rn, rz, rm or rp."""
    near = wide.astype(np.float32)
    if mode == "rn":
        return near
    back = near.astype(np.float64)
    zero, infinity = np.float32(0), np.float32(np.inf)
    if mode == "rz":
        return np.where(np.abs(back) > np.abs(wide), np.nextafter(near, zero), near)
    if mode == "rm":
        return np.where(back > wide, np.nextafter(near, -infinity), near)
    return np.where(back < wide, np.nextafter(near, infinity), near)


def bf16_to_f32(bits):
    return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(values, mode="rn"):
    """float32 -> bfloat16 bits, mode rn or rz."""
    values = np.asarray(values, dtype=np.float32)
    bits = np.atleast_1d(values).view(np.uint32)
    if mode == "rn":
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    else:
        rounded = bits >> np.uint32(16)
    rounded = np.where(np.isnan(np.atleast_1d(values)), np.uint32(0x7FFF), rounded).astype(np.uint16)
    return rounded.reshape(values.shape)


def wide_to_bf16(wide):
    """float64 rounded to odd -> bfloat16 bits, by way of a float32 rounded to odd."""
    wide = np.atleast_1d(wide)
    near = round_float32(wide, "rz")
    inexact = (near.astype(np.float64) != wide) & np.isfinite(near)
    odd = np.where(inexact, near.view(np.uint32) | np.uint32(1), near.view(np.uint32)).view(np.float32)
    return f32_to_bf16(odd)


def _fp8_table(exponent_bits, mantissa_bits, has_infinity):
    bias = (1 << (exponent_bits - 1)) - 1
    values = np.zeros(256, dtype=np.float32)
    for code in range(256):
        exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
        mantissa = code & ((1 << mantissa_bits) - 1)
        top = (1 << exponent_bits) - 1
        if exponent == 0:
            value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        elif exponent == top and has_infinity:
            value = np.inf if mantissa == 0 else np.nan
        elif exponent == top and mantissa == (1 << mantissa_bits) - 1:
            value = np.nan
        else:
            value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
        values[code] = -value if code & 0x80 else value
    return values


FP8_VALUES = {"e4m3": _fp8_table(4, 3, False), "e5m2": _fp8_table(5, 2, True)}
_FP8_CODES = {name: np.flatnonzero(np.isfinite(table[:128])) for name, table in FP8_VALUES.items()}


def fp8_to_f32(bits, name):
    return FP8_VALUES[name][bits]


def _tiny_table(exponent_bits, mantissa_bits):
    """Values of all codes of a format of 4 or 6 bits, which has neither infinities nor NaN."""
    code = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    mantissa, exponent = code & ((1 << mantissa_bits) - 1), code >> mantissa_bits & ((1 << exponent_bits) - 1)
    bias = (1 << exponent_bits - 1) - 1
    fraction = mantissa / (1 << mantissa_bits) + (exponent > 0)
    values = fraction * 2.0 ** (np.maximum(exponent, 1) - bias)
    return np.where(code >> (exponent_bits + mantissa_bits), -values, values).astype(np.float32)


# Formats of which 16 elements lie packed at the start of 16 bytes: kind::f8f6f4 in shared memory.
PADDED_VALUES = {"e2m1": _tiny_table(2, 1), "e2m3": _tiny_table(2, 3), "e3m2": _tiny_table(3, 2)}


def padded_to_f32(data, name):
    """(lines, bytes) of 16-byte groups -> (lines, elements) float32."""
    table = PADDED_VALUES[name]
    width = len(table).bit_length() - 1
    bits = np.unpackbits(data.reshape(len(data), -1, 16)[:, :, : 2 * width], axis=-1, bitorder="little")
    codes = bits.reshape(len(data), -1, width).astype(np.int64) @ (1 << np.arange(width))
    return table[codes]


def f32_to_fp8(values, name):
    """float32 -> FP8 codes, round to nearest even, saturating to the largest finite value (.rn.satfinite)."""
    codes = _FP8_CODES[name]
    table = FP8_VALUES[name][codes].astype(np.float64)
    magnitude = np.abs(np.asarray(values, dtype=np.float64))
    upper = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    below, above = table[upper - 1], table[upper]
    middle = (below + above) / 2
    take_upper = (magnitude > middle) | ((magnitude == middle) & (codes[upper] % 2 == 0))
    code = np.where(take_upper, codes[upper], codes[upper - 1]).astype(np.uint8)
    code = np.where(magnitude >= table[-1], codes[-1], code)
    code = code | np.where(np.signbit(values), 0x80, 0)
    return np.where(np.isnan(values), 0x7F, code).astype(np.uint8)


def f32_to_tf32(values, mode):
    """float32 -> float32 with ten mantissa bits; mode rna (ties away), rn or rz."""
    bits = np.atleast_1d(np.asarray(values, dtype=np.float32)).view(np.uint32)
    if mode == "rna":
        bits = bits + np.uint32(0x1000)
    elif mode == "rn":
        bits = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    rounded = bits & np.uint32(0xFFFFE000)
    rounded = np.where(np.isnan(values), F32_NAN, rounded).astype(np.uint32)
    return rounded.view(np.float32).reshape(np.shape(values))


def as_int32(sums, saturates: bool):
    """Integers below 2^53, in float64 or int64, as int32: clamped to its range, or modulo 2^32."""
    limits = np.iinfo(np.int32)
    kept = np.clip(sums, limits.min, limits.max) if saturates else sums
    return kept.astype(np.int64).astype(np.int32)
