# ruff: noqa: E501  PTX reads better unbroken
"""Small PTX kernels, one per form of an instruction, that run in the simulator and on a GPU from the same description."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from kernel_harness.simulator import Memory, simulate

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"


@dataclass
class Case:
    """buffers: arrays in device memory, compared after the run. params: bytes, ("buffer", i), or ("map", function of addresses)."""

    name: str
    ptx: str
    buffers: list
    params: list
    grid: tuple = (1, 1, 1)
    block: tuple = (32, 1, 1)
    cluster: tuple = (1, 1, 1)
    shared: int = 0
    tolerance: dict = field(default_factory=dict)  # {} bitwise; {"relative": x} or {"absolute": x} of float32 results


def bind_params(case, addresses):
    result = []
    for param in case.params:
        if isinstance(param, bytes):
            result.append(param)
        elif param[0] == "buffer":
            result.append(int(addresses[param[1]]).to_bytes(8, "little"))
        else:
            result.append(param[1](addresses))
    return result


def run_simulated(case):
    """(buffers after the run, report)."""
    memory, arrays = Memory(), []
    for index, array in enumerate(case.buffers):
        buffer = memory.allocate(array.nbytes, f"buffer {index}", written=True)
        buffer.data[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        arrays.append(buffer)
    params = bind_params(case, [b.base for b in arrays])
    report = simulate(case.ptx, None, case.grid, case.block, case.cluster, case.shared, params, memory)
    return [b.data.view(a.dtype).reshape(a.shape) for b, a in zip(arrays, case.buffers, strict=True)], report


def digest(buffers):
    """SHA-256 of the bytes of all buffers."""
    total = hashlib.sha256()
    for array in buffers:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def wrong(case, got, expected):
    """Mask of the elements of one buffer that differ beyond the case's tolerance. NaNs are equal to each other."""
    if got.dtype.kind != "f":
        return got != expected
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    if case.tolerance:
        with np.errstate(all="ignore"):
            error = np.abs(got.astype(np.float64) - expected)
            bound = case.tolerance.get("relative", 0) * np.abs(expected.astype(np.float64))
            same |= error <= bound + case.tolerance.get("absolute", 0)
    return ~same


# Per-lane instructions -------------------------------------------------------------------------------------------

REGISTER = {"b8": "b16", "u8": "b16", "s8": "b16", "b16": "b16", "u16": "b16", "s16": "b16", "f16": "b16", "bf16": "b16",
            "f16x2": "b32", "bf16x2": "b32", "b32": "b32", "u32": "b32", "s32": "b32", "f32": "b32", "tf32": "b32",
            "b64": "b64", "u64": "b64", "s64": "b64", "f64": "b64", "pred": "pred", "e4m3x2": "b16", "e5m2x2": "b16"}  # fmt: skip
ARRAY = {"b8": np.uint8, "u8": np.uint8, "s8": np.int8, "b16": np.uint16, "u16": np.uint16, "s16": np.int16, "f16": np.float16,
         "bf16": np.uint16, "f16x2": np.uint32, "bf16x2": np.uint32, "b32": np.uint32, "u32": np.uint32, "s32": np.int32, "f32": np.float32,
         "tf32": np.float32, "b64": np.uint64, "u64": np.uint64, "s64": np.int64, "f64": np.float64, "e4m3x2": np.uint16, "e5m2x2": np.uint16}  # fmt: skip
COUNT = 4096


def random_values(kind, seed, small=False):
    """COUNT values of `kind`: edge values, random bit patterns, and ordinary numbers."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(ARRAY[kind])
    raw = rng.integers(0, 256, COUNT * dtype.itemsize, dtype=np.uint8).view(dtype).copy()
    if dtype.kind == "f":
        raw[COUNT // 2 :] = (
            rng.standard_normal(COUNT - COUNT // 2) * rng.choice([1e-3, 1, 30], COUNT - COUNT // 2)
        ).astype(dtype)
        edges = np.array(
            [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                1.5,
                2.5,
                -2.5,
                np.inf,
                -np.inf,
                np.nan,
                65504,
                1e-6,
                6e-8,
                3.4e38,
                1e-40,
                127.5,
                255.5,
                2147483648.0,
            ],
            dtype=np.float64,
        )
        with np.errstate(all="ignore"):
            edges = edges.astype(dtype)
    elif kind in ("bf16", "bf16x2", "f16x2"):
        with np.errstate(all="ignore"):
            ordinary = rng.standard_normal(COUNT * dtype.itemsize // 2).astype(np.float32)
        packed = (
            (ordinary.view(np.uint32) >> 16).astype(np.uint16)
            if kind[0] == "b"
            else ordinary.astype(np.float16).view(np.uint16)
        )
        raw[COUNT // 2 :] = packed.view(dtype)[COUNT // 2 :]
        return raw
    else:
        info = np.iinfo(dtype)
        edges = np.array([0, 1, 2, 31, 32, 33, 63, 64, info.max, info.min, info.max - 1], dtype=np.object_) & (
            (1 << info.bits) - 1
        )
        edges = edges.astype(f"u{dtype.itemsize}").view(dtype)
        if small:
            raw = (raw.astype(np.uint64) % 80).astype(dtype)
    rng.shuffle(edges)
    raw[: len(edges) * 8] = np.tile(edges, 8)[: len(edges) * 8]
    rng.shuffle(raw)
    return raw


def lane_case(instruction, result, sources, tolerance=None, small=()):
    """`instruction` applied to arrays of its source types; predicates come back as 0 or 1."""
    registers = [f".reg .{REGISTER[result]} d;"] + [f".reg .{REGISTER[kind]} s{i};" for i, kind in enumerate(sources)]
    loads = []
    for index, kind in enumerate(sources):
        size = np.dtype(ARRAY[kind]).itemsize
        letter = "s" if kind[0] == "s" else "u" if kind[0] == "u" else "b"
        loads.append(
            f"mul.wide.u32 offset, i, {size};\nld.param.u64 base, [p{index + 1}];\nadd.s64 base, base, offset;\nld.global.{letter}{8 * size} s{index}, [base];"
        )
    stored, dtype = ("d", ARRAY[result]) if result != "pred" else ("flag", np.uint32)
    size = np.dtype(dtype).itemsize
    operands = ", ".join(f"s{i}" for i in range(len(sources)))
    after = "selp.u32 flag, 1, 0, d;" if result == "pred" else ""
    text = f"""{HEADER}
.visible .entry test({", ".join(f".param .u64 p{i}" for i in range(len(sources) + 1))})
{{
    .reg .b32 i, t, flag; .reg .b64 base, offset; {" ".join(registers)}
    mov.u32 i, %ctaid.x; mov.u32 t, %tid.x; mad.lo.u32 i, i, 256, t;
    {" ".join(loads)}
    {instruction} d, {operands};
    {after}
    mul.wide.u32 offset, i, {size}; ld.param.u64 base, [p0]; add.s64 base, base, offset;
    st.global.b{8 * size} [base], {stored};
    ret;
}}"""
    inputs = [
        random_values(kind, seed, small=index in small)
        for index, (seed, kind) in enumerate(zip(range(1, 9), sources, strict=False))
    ]
    return Case(instruction + (" " + " ".join(sources)), text, [np.zeros(COUNT, dtype), *inputs], [("buffer", i) for i in range(len(sources) + 1)],
                (COUNT // 256, 1, 1), (256, 1, 1), tolerance=tolerance or {})  # fmt: skip


def lane_cases():
    cases = []

    def add(name, result, *sources, **more):
        cases.append(lane_case(name, result, sources, **more))

    for kind in ("s16", "u16", "s32", "u32", "s64", "u64"):
        for operation in ("add", "sub", "min", "max", "mul.lo", "mul.hi", "div", "rem"):
            add(f"{operation}.{kind}", kind, kind, kind)
        if kind[1:] != "64":
            add(f"mul.wide.{kind}", f"{kind[0]}{2 * int(kind[1:])}", kind, kind)
        add(f"mad.lo.{kind}", kind, kind, kind, kind)
        add(f"shr.{kind}", kind, kind, "u32", small=(1,))
        for compare in ("eq", "lt", "ge"):
            add(f"setp.{compare}.{kind}", "pred", kind, kind)
    add("abs.s32", "s32", "s32")
    add("neg.s32", "s32", "s32")
    add("sad.u32", "u32", "u32", "u32", "u32")
    add("add.sat.s32", "s32", "s32", "s32")
    for kind in ("b16", "b32", "b64"):
        for operation in ("and", "or", "xor"):
            add(f"{operation}.{kind}", kind, kind, kind)
        add(f"not.{kind}", kind, kind)
        add(f"shl.{kind}", kind, kind, "u32", small=(1,))
    for kind in ("b32", "b64"):
        add(f"popc.{kind}", "u32", kind)
        add(f"clz.{kind}", "u32", kind)
        add(f"brev.{kind}", kind, kind)
        add(f"bfi.{kind}", kind, kind, kind, "u32", "u32", small=(2, 3))
    for kind in ("u32", "s32", "u64", "s64"):
        add(f"bfind.{kind}", "u32", kind)
        add(f"bfe.{kind}", kind, kind, "u32", "u32", small=(1, 2))
    add("prmt.b32", "b32", "b32", "b32", "b32")
    for direction in ("l", "r"):
        for mode in ("clamp", "wrap"):
            add(f"shf.{direction}.{mode}.b32", "b32", "b32", "b32", "u32", small=(2,))
    add("dp4a.s32.s32", "s32", "b32", "b32", "s32")
    for kinds, result in (("s32.s32", "s32"), ("s32.u32", "s32"), ("u32.u32", "u32")):
        for half in ("lo", "hi"):
            add(f"dp2a.{half}.{kinds}", result, "b32", "b32", result)
    for kind in ("u16x2", "s16x2"):
        for operation in ("add", "min", "max"):
            add(f"{operation}.{kind}", "b32", "b32", "b32")
    add("max.relu.s16x2", "b32", "b32", "b32")
    for kind in ("f32", "f64"):
        for operation in ("add.rn", "sub.rn", "mul.rn", "div.rn"):
            add(f"{operation}.{kind}", kind, kind, kind)
        add(f"fma.rn.{kind}", kind, kind, kind, kind)
        add(f"sqrt.rn.{kind}", kind, kind)
        add(f"rcp.rn.{kind}", kind, kind)
        for operation in ("min", "max"):
            add(f"{operation}.{kind}", kind, kind, kind)
        for compare in ("eq", "ne", "lt", "ge", "neu", "ltu", "nan", "num"):
            add(f"setp.{compare}.{kind}", "pred", kind, kind)
    for operation in ("add", "mul", "fma"):
        for mode in ("rz", "rm", "rp", "rn.ftz", "rn.sat"):
            add(f"{operation}.{mode}.f32", "f32", *["f32"] * (3 if operation == "fma" else 2))
    add("max.NaN.f32", "f32", "f32", "f32")
    add("neg.f32", "f32", "f32")
    add("abs.f32", "f32", "f32")
    for kind in ("f16", "bf16", "f16x2", "bf16x2"):
        for operation in ("add.rn", "mul.rn", "min", "max", "min.NaN"):
            add(f"{operation}.{kind}", kind, kind, kind)
        add(f"fma.rn.{kind}", kind, kind, kind, kind)
        add(f"fma.rn.relu.{kind}", kind, kind, kind, kind)
        add(f"neg.{kind}", kind, kind)
        add(f"abs.{kind}", kind, kind)
    for kind in ("f16", "bf16"):
        add(f"setp.lt.{kind}", "pred", kind, kind)
    for target in ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"):
        for source in ("s8", "u16", "s32", "u64"):
            if target != source:
                wide = {"s8": "s16", "u8": "u16"}.get(target, target)
                add(f"cvt.{target}.{source}", wide, source)
                low, high = np.iinfo(ARRAY[source]).min, np.iinfo(ARRAY[source]).max
                if low < np.iinfo(ARRAY[target]).min or high > np.iinfo(ARRAY[target]).max:  # else .sat is not allowed
                    add(f"cvt.sat.{target}.{source}", wide, source)
        if target[1:] != "8":
            for source in ("f32", "f16", "f64"):
                add(f"cvt.rzi.{target}.{source}", target, source)
                add(f"cvt.rni.{target}.{source}", target, source)
            for result in ("f32", "f16", "bf16", "f64"):
                add(f"cvt.rn.{result}.{target}", result, target)
    for mode in ("rn", "rz"):
        add(f"cvt.{mode}.f16.f32", "f16", "f32")
        add(f"cvt.{mode}.bf16.f32", "bf16", "f32")
        add(f"cvt.{mode}.f16x2.f32", "f16x2", "f32", "f32")
        add(f"cvt.{mode}.bf16x2.f32", "bf16x2", "f32", "f32")
        add(f"cvt.{mode}.f32.f64", "f32", "f64")
    add("cvt.f32.f16", "f32", "f16")
    add("cvt.f32.bf16", "f32", "bf16")
    add("cvt.f64.f32", "f64", "f32")
    add("cvt.rni.f32.f32", "f32", "f32")
    add("cvt.rpi.f32.f32", "f32", "f32")
    add("cvt.rn.relu.bf16x2.f32", "bf16x2", "f32", "f32")
    add("cvt.rna.tf32.f32", "f32", "f32")
    for name in ("e4m3", "e5m2"):
        add(f"cvt.rn.satfinite.{name}x2.f32", f"{name}x2", "f32", "f32")
        add(f"cvt.rn.satfinite.{name}x2.f16x2", f"{name}x2", "f16x2")
        add(f"cvt.rn.f16x2.{name}x2", "f16x2", f"{name}x2")
    add("copysign.f32", "f32", "f32", "f32")
    add("testp.subnormal.f32", "pred", "f32")
    # Approximations, with the error bounds that the PTX ISA documents.
    add("ex2.approx.f32", "f32", "f32", tolerance={"relative": 2.0**-21})
    add("ex2.approx.ftz.f32", "f32", "f32", tolerance={"relative": 2.0**-21})
    add("lg2.approx.f32", "f32", "f32", tolerance={"relative": 2.0**-21, "absolute": 2.0**-21})
    add("rcp.approx.f32", "f32", "f32", tolerance={"relative": 2.0**-22, "absolute": 2.0**-148})
    add("rcp.approx.ftz.f32", "f32", "f32", tolerance={"relative": 2.0**-22})
    add("rsqrt.approx.f32", "f32", "f32", tolerance={"relative": 2.0**-22})
    add("sqrt.approx.f32", "f32", "f32", tolerance={"relative": 2.0**-21})
    add("div.approx.f32", "f32", "f32", "f32", tolerance={"relative": 2.0**-21, "absolute": 2.0**-125})
    add("tanh.approx.f32", "f32", "f32", tolerance={"relative": 2.0**-10.5})
    return cases
