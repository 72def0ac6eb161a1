"""cvt: conversions between integer, floating and packed types. PTX ISA, "Data Movement and Conversion: cvt"."""

import numpy as np

from . import numerics as nm
from .arithmetic import Operation
from .operands import NUMPY_TYPES

_INTEGER_ROUNDING = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def _is_integer(kind):
    return kind[0] in "sub" and kind != "bf16" and not kind.startswith("bf16")


def _to_wide(values, kind):
    """Any floating type -> float64, exactly."""
    return (nm.bf16_to_f32(values) if kind == "bf16" else values).astype(np.float64)


def _float_to_integer(source, target, mode, ftz):
    info = np.iinfo(NUMPY_TYPES[target])
    bits = 8 * np.dtype(NUMPY_TYPES[target]).itemsize
    # NaN becomes 0, except for 64-bit results and float64 sources, where it is the sign bit alone (as on an H200).
    nan_value = NUMPY_TYPES[target](0)
    if bits == 64 or source == "f64":
        nan_value = np.array([1 << (bits - 1)], dtype=f"u{bits // 8}").view(NUMPY_TYPES[target])[0]

    def function(a):
        if ftz and source == "f32":
            a = nm.flush(a)
        rounded = _INTEGER_ROUNDING[mode](_to_wide(a, source))
        inside = np.where(np.isnan(rounded), 0.0, rounded)
        low, high = inside <= float(info.min), inside >= float(info.max)
        result = np.where(low | high, 0, inside).astype(NUMPY_TYPES[target])
        result = np.where(low, info.min, np.where(high, info.max, result)).astype(NUMPY_TYPES[target])
        return np.where(np.isnan(rounded), nan_value, result)

    return Operation(target, (source,), function)


def _integer_to_integer(source, target, saturate):
    if not saturate:
        return Operation(target, (source,), lambda a: a.astype(NUMPY_TYPES[target]))
    info = np.iinfo(NUMPY_TYPES[target])

    def function(a):
        low = max(info.min, np.iinfo(a.dtype).min)
        high = min(info.max, np.iinfo(a.dtype).max)
        return np.clip(a, a.dtype.type(low), a.dtype.type(high)).astype(NUMPY_TYPES[target])

    return Operation(target, (source,), function)


def _odd_float64(a):
    """Integers as float64, to odd where that does not hold them, so that one more rounding is as the first."""
    if a.itemsize < 8:
        return a.astype(np.float64)
    wide, near, lost = a.astype(np.float64), a >> a.dtype.type(12), (a & a.dtype.type(0xFFF)) != 0
    return np.where(np.abs(wide) < 2.0**53, wide, (near | lost).astype(np.float64) * 4096)


def _narrow(wide, target, mode):
    """float64 values that hold a narrower float exactly -> `target`."""
    if target == "f64":
        return wide
    if target == "f32":
        return nm.round_float32(wide, mode)
    if target == "bf16":
        return (
            nm.f32_to_bf16(nm.round_float32(wide, "rz" if mode == "rz" else "rn"), mode)
            if mode in ("rn", "rz")
            else None
        )
    near = wide.astype(np.float16)
    if mode == "rz":
        over = np.abs(near.astype(np.float64)) > np.abs(wide)
        near = np.where(over, np.nextafter(near, np.float16(0)), near)
    return near


def _float_to_float(mods, source, target, mode, integer_rounding, ftz, sat, relu, satfinite):
    def function(a):
        if source in ("e4m3", "e5m2"):
            raise mods.unsupported(source)
        if ftz and source == "f32":
            a = nm.flush(a)
        wide = _to_wide(a, source)
        if integer_rounding:
            wide = _INTEGER_ROUNDING[integer_rounding](wide)
        if source == "f64" and target in ("f16", "bf16"):
            raise mods.unsupported("f64 to a 16-bit type")
        result = _narrow(wide, target, mode or "rn")
        if target == "bf16":
            if relu:
                result = np.where((result & 0x8000 != 0) & (result != 0x7FFF), 0, result).astype(np.uint16)
            return result
        if satfinite:
            limit = np.finfo(result.dtype).max
            result = np.where(np.isnan(result), result, np.clip(result, -limit, limit))
        if ftz and target == "f32":
            result = nm.flush(result)
        if sat:
            result = nm.saturate(result)
        if relu:
            result = np.where(result < 0, result.dtype.type(0), result)
        return nm.canonical_nan(result)

    return Operation(target, (source,), function)


def _packed(mods, target, source, mode, relu, satfinite):
    """Two narrow values in one register: cvt.x2.f32 d, a, b puts a in the upper half."""
    if target in ("f16x2", "bf16x2") and source == "f32":
        if mode not in ("rn", "rz"):
            raise mods.unsupported(f".{mode}")
        single = _float_to_float(mods, "f32", target[:-2], mode, None, False, False, relu, satfinite).function
        return Operation(
            target, ("f32", "f32"), lambda a, b: np.stack(np.broadcast_arrays(single(b), single(a)), axis=-1)
        )
    if target in ("e4m3x2", "e5m2x2") and source in ("f32", "f16x2", "bf16x2"):
        if not satfinite:
            raise mods.unsupported("a conversion to FP8 without .satfinite")
        name = target[:-2]

        def narrow(values):
            values = np.maximum(values, np.float32(0)) if relu else values
            return nm.f32_to_fp8(values, name).astype(np.uint16)

        if source == "f32":
            return Operation(target, ("f32", "f32"), lambda a, b: (narrow(a) << np.uint16(8)) | narrow(b))

        def from_pair(a):
            wide = nm.bf16_to_f32(a) if source == "bf16x2" else a.astype(np.float32)
            both = narrow(wide)
            return both[:, 0] | (both[:, 1] << np.uint16(8))

        return Operation(target, (source,), from_pair)
    if target == "f16x2" and source in ("e4m3x2", "e5m2x2"):
        name = source[:-2]

        def widen(a):
            both = np.stack([nm.fp8_to_f32(a & 0xFF, name), nm.fp8_to_f32(a >> 8, name)], axis=-1)
            return nm.canonical_nan((np.maximum(both, 0) if relu else both).astype(np.float16))

        return Operation(target, (source,), widen)
    raise mods.unsupported(f"{target} from {source}")


def cvt(mods):
    integer_rounding = mods.take(*_INTEGER_ROUNDING)
    mode = mods.take("rn", "rz", "rm", "rp", "rna")
    ftz, sat, relu, satfinite = mods.flag("ftz"), mods.flag("sat"), mods.flag("relu"), mods.flag("satfinite")
    kinds = mods.types()
    if len(kinds) != 2:
        raise mods.unsupported(f"types {kinds}")
    target, source = kinds
    if target.endswith(("x2", "x4")) or source.endswith(("x2", "x4")):
        return _packed(mods, target, source, mode, relu, satfinite)
    if target == "tf32":
        return Operation("f32", ("f32",), lambda a: nm.f32_to_tf32(a, mode))
    if _is_integer(source) and _is_integer(target):
        return _integer_to_integer(source, target, sat)
    if _is_integer(target):
        return _float_to_integer(source, target, integer_rounding or "rzi", ftz)
    if _is_integer(source):
        if mode != "rn" and not (mode == "rz" and np.dtype(NUMPY_TYPES[source]).itemsize <= 4):
            raise mods.unsupported(f".{mode} from an integer")
        if target == "f32" and mode == "rn":
            return Operation(target, (source,), lambda a: a.astype(np.float32))
        if target == "f64":
            return Operation(target, (source,), lambda a: a.astype(np.float64))
        # Through float64, then one rounding.
        if target == "bf16":
            return Operation(target, (source,), lambda a: nm.wide_to_bf16(_odd_float64(a)).reshape(np.shape(a)))
        return Operation(target, (source,), lambda a: _narrow(_odd_float64(a), target, mode))
    return _float_to_float(mods, source, target, mode, integer_rounding, ftz, sat, relu, satfinite)
