"""What one compiled kernel is made of: its facts by name, and the notes that they call for."""

from __future__ import annotations

import math
import re
from pathlib import Path

from .. import devices
from ..contract import module_name
from . import cubin, expect, ptx, sass
from .capture import CompiledKernel
from .occupancy import occupancy


class Facts:
    """What one compiled kernel is made of. A fact that cannot be read here is None."""

    def __init__(self, kernel: CompiledKernel, label: str):
        self.kernel, self.label = kernel, label
        self.resources = cubin.read(kernel.cubin).get(kernel.name) if kernel.cubin else None
        instructions = sass.read(kernel.cubin) if kernel.cubin else None
        self.sass = instructions.get(kernel.name) if instructions else None
        self.entry = ptx.parse(kernel.ptx).get(kernel.name) if kernel.ptx else None
        launches = kernel.launches
        blocks = {launch.block for launch in launches}
        required = self.resources.required_threads if self.resources else None
        self.block = max(blocks, default=required, key=lambda b: b[0] * b[1] * b[2])
        self.cluster = max((launch.cluster for launch in launches), default=(1, 1, 1))
        self.dynamic_shared = max((launch.dynamic_shared_bytes for launch in launches), default=None)

    @property
    def threads(self) -> int | None:
        return self.block[0] * self.block[1] * self.block[2] if self.block else None

    def __call__(self, fact: str) -> int | None:
        """A fact of EXPECT by name; None when it cannot be read here."""
        resources, code = self.resources, self.sass
        if fact not in expect.RESOURCES:
            return code.count(fact) if code else None
        static = resources.static_shared_bytes if resources else None
        both = (static, self.dynamic_shared)
        spills = (code.spill_store_bytes, code.spill_load_bytes) if code else (None, None)
        return {
            "registers": resources and resources.registers,
            "stack_bytes": resources and resources.stack_bytes,
            "spill_store_bytes": spills[0],
            "spill_load_bytes": spills[1],
            "spill_bytes": None if None in spills else sum(spills),
            "local_instructions": code and code.local_instructions,
            "load_bytes_in_flight": code and code.load_bytes_in_flight,
            "static_shared_bytes": static,
            "dynamic_shared_bytes": self.dynamic_shared,
            "shared_bytes": None if None in both else sum(both),
            "threads": self.threads,
            "cluster_size": self.cluster[0] * self.cluster[1] * self.cluster[2],
            "kernels": 1,
        }[fact]

    def occupancies(self) -> list:
        shared = self("shared_bytes")
        if None in (shared, self.threads, self("registers")):
            return []
        return [
            occupancy(device, self.threads, self("registers"), shared)
            for device in devices.devices_for(self.kernel.arch)
        ]

    def document(self) -> dict:
        """Everything, for JSON."""
        code, entry = self.sass, self.entry
        return {
            "kernel": self.kernel.name,
            "label": self.label,
            "arch": self.kernel.arch,
            "language": self.kernel.language,
            "function": self.kernel.function,
            "cases": self.kernel.cases,
            **{fact: self(fact) for fact in expect.RESOURCES},
            "block": self.block,
            "cluster": self.cluster,
            "bounds": entry.bounds if entry else None,
            "sass": dict(code.mnemonics.most_common()) if code else None,
            "families": {name: dict(code.family(name)) for name in sass.FAMILIES} if code else None,
            "ptx": dict(entry.families) if entry else None,
            "ptx_digest": ptx.digest(self.kernel.ptx) if self.kernel.ptx else None,
            "ptx_global": _widths(entry) if entry else None,
            "spill_lines": [{"file": f, "line": n, "bytes": b} for (f, n), b in code.spill_lines.most_common()]
            if code
            else None,
            "launches": [
                {
                    "case": x.case,
                    "grid": x.grid,
                    "block": x.block,
                    "cluster": x.cluster,
                    "dynamic_shared_bytes": x.dynamic_shared_bytes,
                }
                for x in self.kernel.launches
            ],
            "occupancy": [vars(o) for o in self.occupancies()],
        }


def short_name(kernel: str, stem: str) -> str:
    """The function's name in what CuTe DSL makes of it and of the types of its arguments, in the file ``stem``."""
    short = kernel.removeprefix("kernel_cutlass_").replace(module_name(stem), "")
    return re.split(r"_tensor|_object_at", short)[0][:40].strip("_")


def labelled(kernels: list[CompiledKernel], stem: str) -> list[Facts]:
    """Facts with a short label each, unique within the arch: what CuTe DSL mangles without the file's module name."""
    seen: dict[str, int] = {}
    facts = []
    for kernel in kernels:
        short = short_name(kernel.name, stem)
        seen[short] = seen.get(short, 0) + 1
        facts.append(Facts(kernel, short if seen[short] == 1 else f"{short}#{seen[short]}"))
    return facts


def spill_notes(f: Facts) -> list[str]:
    """Where registers are spilled."""
    spilled = f("spill_bytes")
    if not spilled:
        return []
    places = "; ".join(
        f"{Path(file).name}:{line} {size} bytes" if file else f"{size} bytes of no known line"
        for (file, line), size in f.sass.spill_lines.most_common(4)
    )
    return [
        f"{f.label} ({f.kernel.arch}) spills {f('spill_store_bytes')} bytes and reloads {f('spill_load_bytes')} per "
        "thread, "
        f"{f('registers')} registers: {places}"
    ]


def bound_notes(f: Facts) -> list[str]:
    """A number of blocks a multiprocessor that says nothing: ptxas heeds .minnctapersm beside .maxntid or .reqntid
    alone (PTX ISA, .minnctapersm)."""
    blocks = f.entry.bounds.get("minnctapersm", (0,))[0]
    if not blocks or {"reqntid", "maxntid"} & set(f.entry.bounds):
        return []
    return [
        f"{f.label} ({f.kernel.arch}): min_blocks_per_mp={blocks} has no effect, as the size of the block is known "
        "only at run time: give launch() a block of Python integers"
    ]


def drain_notes(f: Facts) -> list[str]:
    """A main loop that asks to keep one group of WGMMAs under way, and waits for all of them in each round."""
    if not (f.sass and f.sass.drained_at):
        return []
    lines = ", ".join(f"{Path(file).name}:{line}" for file, line in f.sass.drained_at if file)
    return [
        f"{f.label} ({f.kernel.arch}) waits for every WGMMA in each round of a loop that keeps one group under way "
        f"(WARPGROUP.DEPBAR.LE gsb0, 0x0 at {lines or 'no known line'}): no product overlaps the next. A "
        "wait_group(0) in a branch of the loop does that; put it behind the loop (references/gemm.md)"
    ]


def scalar_notes(f: Facts, case: str) -> list[str]:
    """Inputs with 16-byte aligned rows that a kernel of this case reads one element at a time.

    Tables, lengths and scales beside a much larger input are none of them: their loads cost next to nothing.
    """
    notes = []
    largest = max((_nbytes(tensor) for tensor in f.kernel.tensors.get(case, ())), default=0)
    for launch in f.kernel.launches if f.entry else ():
        pointers = {(p["parameter"], p["offset"]): p["input"] for p in launch.pointers if p["byte"] == 0}
        for tensor in f.kernel.tensors.get(case, ()) if launch.case == case else ():
            loads = [
                a
                for a in f.entry.accesses
                if a.kind == "ld" and {pointers.get(p) for p in a.parameters} - {None} == {tensor["input"]}
            ]
            widest = max((a.bits for a in loads), default=0)
            # A single load is a thread that wants one element; two and more might have been one access.
            is_scalar = len(loads) > 1 and widest == 8 * tensor["itemsize"]
            along = _aligned_rows(tensor)
            if is_scalar and 8 * _nbytes(tensor) >= largest and along is not None:
                lines = sorted({f"{Path(a.file).name}:{a.line}" for a in loads if a.line})
                notes.append(
                    f"{f.label} ({f.kernel.arch}) loads input {tensor['input']} ({tensor['dtype']}{tensor['shape']}) "
                    f"one element at a time{' at ' + ', '.join(lines[:3]) if lines else ''}, although its rows, along "
                    f"dimension {along}, are 16-byte aligned: {widest}-bit loads instead of 128. If a thread wants "
                    "neighbours, say alignment and divisibility: make_fake_tensor(..., assumed_align=16) with "
                    "sym_int(divisibility=...), or from_dlpack(x, assumed_align=16) with "
                    "mark_compact_shape_dynamic(mode=..., divisibility=...); mark_layout_dynamic() and a minus sign "
                    "forget both (cute.assume says it again)"
                )
    return list(dict.fromkeys(notes))


def _nbytes(tensor: dict) -> int:
    return math.prod(tensor["shape"]) * tensor["itemsize"]


def _aligned_rows(tensor: dict) -> int | None:
    """The dimension along which rows of whole 16 bytes begin at multiples of 16 bytes, None where there is none."""
    size = tensor["itemsize"]
    modes = [m for m in enumerate(zip(tensor["shape"], tensor["strides"], strict=True)) if m[1][0] != 1]
    inner = [at for at, (extent, stride) in modes if stride == 1 and extent * size % 16 == 0]
    is_aligned = tensor["address"] % 16 == 0 and all(stride * size % 16 == 0 for _, (_, stride) in modes if stride != 1)
    return inner[0] if inner and is_aligned and size < 16 else None


def _widths(entry: ptx.Entry) -> dict[str, int]:
    widths: dict[str, int] = {}
    for access in entry.accesses:
        key = f"{access.kind}.{access.bits}"
        widths[key] = widths.get(key, 0) + 1
    return widths
