"""Instruction facts of a cubin's SASS, read with nvdisasm (standard library only).

nvdisasm is looked for in the nvidia-cuda-nvdisasm wheel, on PATH, then beside triton. Where there is none, the facts
are missing (None), never zero.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)\b(.*)")
REGISTER = re.compile(r"\bR(\d+)")
JUMPS = ("BRA", "EXIT", "RET")
LABEL, TARGET = re.compile(r"(\.L_\w+):"), re.compile(r"(\.L_\w+)")
PRODUCTS = ("HGMMA", "QGMMA", "IGMMA")
SECTION = re.compile(r"\.section\s+\.text\.([^,\s]+)")
LINE = re.compile(r'//## File "([^"]*)", line (\d+)')
SPILL = '(*"SpillRefill"*)'
MARKS_SPILLS = (13, 4)  # the first release of nvdisasm seen to mark spills in its text
GLOBAL, LOCAL = ("LDG", "STG", "LDGSTS"), ("LDL", "STL")
NARROW = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}
FAMILIES = {  # what the mnemonics are for; the order is that of the report
    "tensor core": (
        "HMMA",
        "IMMA",
        "DMMA",
        "QMMA",
        "OMMA",
        "HGMMA",
        "QGMMA",
        "IGMMA",
        "UTCHMMA",
        "UTCQMMA",
        "UTCIMMA",
        "UTCOMMA",
    ),
    "TMA": ("UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UBLKCP", "UBLKRED", "UBLKPF"),
    "cp.async": ("LDGSTS",),
    "ldmatrix": ("LDSM", "STSM", "LDTM", "STTM"),
    "global": ("LDG", "STG", "ATOMG", "REDG", "ATOM", "RED", "LD", "ST"),
    "shared": ("LDS", "STS", "ATOMS"),
    "local": LOCAL,
    "barrier": ("BAR", "SYNCS", "WARPGROUP", "UCGABAR_ARV", "UCGABAR_WAIT"),
}


MEMORY = {name for family in ("global", "shared", "local", "cp.async") for name in FAMILIES[family]}


@dataclass(frozen=True)
class Access:
    """``count`` instructions of one mnemonic family that move ``bits`` per thread."""

    mnemonic: str
    bits: int
    count: int


@dataclass
class Instructions:
    """The SASS of one kernel: how often each full mnemonic occurs (static count), and what is spilled where.

    spill_store_bytes and spill_load_bytes are per thread and static, as ptxas -v counts them; None when local-memory
    instructions are there but this nvdisasm does not say which of them spill. spill_lines: {(file, line): bytes}.
    load_bytes_in_flight: of global loads into registers, the most that a thread has issued and not yet waited for.
    drained_at: lines where an innermost loop of one group of WGMMAs, which keeps a group under way, waits for all.
    """

    mnemonics: Counter = field(default_factory=Counter)
    spill_store_bytes: int | None = 0
    spill_load_bytes: int | None = 0
    spill_lines: Counter = field(default_factory=Counter)
    load_bytes_in_flight: int = 0
    drained_at: list[tuple[str, int]] = field(default_factory=list)

    def count(self, pattern: str) -> int:
        """Instructions whose mnemonic starts as ``pattern`` does and has all its modifiers: LDG.128, HGMMA, STL.

        Of a load or store a bare number is the bits it moves, as accesses() tells them: LDG.16 is also LDG.E.U16, whose
        name says more, and LDG.32 an LDG.E, whose name says less.
        """
        name, *modifiers = pattern.split(".")
        return sum(n for mnemonic, n in self.mnemonics.items() if _matches(name, modifiers, *mnemonic.split(".")))

    @property
    def local_instructions(self) -> int:
        return sum(self.count(name) for name in LOCAL)

    def accesses(self) -> list[Access]:
        """Global-memory accesses by width, widest first."""
        found = Counter()
        for mnemonic, n in self.mnemonics.items():
            name, *modifiers = mnemonic.split(".")
            if name in GLOBAL:
                found[name, width(modifiers)] += n
        return [
            Access(name, bits, n) for (name, bits), n in sorted(found.items(), key=lambda kv: (kv[0][0], -kv[0][1]))
        ]

    def family(self, name: str) -> Counter:
        """Counts of the mnemonics of one of FAMILIES."""
        return Counter({m: n for m, n in self.mnemonics.items() if m.split(".")[0] in FAMILIES[name]})


def _matches(name: str, wanted: list[str], found: str, *modifiers: str) -> bool:
    have = {*modifiers, str(width(list(modifiers)))} if found in MEMORY else set(modifiers)
    return found == name and set(wanted) <= have


def width(modifiers: list[str]) -> int:
    """Bits that a load or store moves per thread; 32 when no modifier says otherwise."""
    return next((NARROW[m] for m in reversed(modifiers) if m in NARROW), 32)


def find_nvdisasm() -> Path | None:
    """The disassembler: the wheel's, else PATH's, else triton's."""
    candidates = []
    for package, pattern in (("nvidia", "*/bin/nvdisasm"), ("nvidia", "cuda_nvdisasm/bin/nvdisasm")):
        for folder in _package_folders(package):
            candidates += sorted(folder.glob(pattern), reverse=True)
    on_path = shutil.which("nvdisasm")
    candidates += [Path(on_path)] if on_path else []
    candidates += [folder / "backends/nvidia/bin/nvdisasm" for folder in _package_folders("triton")]
    return next((path for path in candidates if path.is_file()), None)


def disassemble(cubin: bytes, nvdisasm: Path | None = None) -> str | None:
    """The text that nvdisasm gives, with source lines where the cubin has them; None when there is no nvdisasm."""
    tool = nvdisasm or find_nvdisasm()
    if tool is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        run = subprocess.run([tool, "-g", "-c", file.name], capture_output=True, text=True, timeout=120)
    return run.stdout if run.returncode == 0 and run.stdout else None


def parse(text: str, marks_spills: bool = True) -> dict[str, Instructions]:
    """Instructions of each kernel in nvdisasm's text. marks_spills: whether the nvdisasm that wrote it marks spills."""
    kernels, current, line, pending = {}, None, ("", 0), []
    flows: dict[str, list[tuple]] = {}
    for row in text.splitlines():
        if section := SECTION.search(row):
            current, line = kernels.setdefault(section[1], Instructions()), ("", 0)
            pending, flow = [], flows.setdefault(section[1], [])
        elif label := LABEL.match(row):
            if current is not None:
                flow.append(("label", label[1]))
        elif position := LINE.search(row):
            if "inlined at" not in row:
                line = position[1], int(position[2])
        elif current is not None and (instruction := INSTRUCTION.search(row)):
            predicate, mnemonic, rest = instruction.groups()
            current.mnemonics[mnemonic] += 1
            name, *modifiers = mnemonic.split(".")
            if name in PRODUCTS:
                flow.append(("group" if "gsb0" in rest else "product", None))
            elif name == "BRA" and (target := TARGET.search(rest)):
                flow.append(("branch", target[1]))
            elif mnemonic.startswith("WARPGROUP.DEPBAR"):
                flow.append(("drain" if rest.strip(" ;").endswith("0x0") else "wait", line))
            pending = _in_flight(pending, name, modifiers, rest, not predicate)
            current.load_bytes_in_flight = max(current.load_bytes_in_flight, sum(map(len, pending)) * 4)
            if name in LOCAL and SPILL in rest:
                size = width(modifiers) // 8
                if name == "STL":
                    current.spill_store_bytes += size
                else:
                    current.spill_load_bytes += size
                current.spill_lines[line] += size
    for name, kernel in kernels.items():
        kernel.drained_at = _drained(flows[name])
        if kernel.local_instructions and not kernel.spill_lines and not marks_spills:
            kernel.spill_store_bytes = kernel.spill_load_bytes = None
    return kernels


def _drained(flow: list[tuple]) -> list[tuple[str, int]]:
    """Instructions.drained_at. Attention has two groups a round, and may have to wait for both."""
    labels = {what: at for at, (kind, what) in enumerate(flow) if kind == "label"}
    branches = [(labels.get(what, at), at) for at, (kind, what) in enumerate(flow) if kind == "branch"]
    loops = [flow[first:last] for first, last in branches if first < last]
    loops = [loop for loop in loops if any(kind == "group" for kind, _ in loop)]
    found = []
    for loop in loops:
        kinds = [kind for kind, _ in loop]
        if kinds.count("group") == 1 and "wait" in kinds and len(loop) == min(map(len, loops)):
            found += [line for kind, line in loop if kind == "drain"]
    return list(dict.fromkeys(found))


def _in_flight(pending: list[range], name: str, modifiers: list[str], rest: str, always: bool) -> list[range]:
    """The registers of the global loads under way behind one more instruction, in the order of the SASS.

    Whoever touches a register of a load waits for it, and for those issued before it. always: it has no predicate.
    """
    registers = [int(number) for number in REGISTER.findall(rest)]
    waits = [i for i, loaded in enumerate(pending) if any(register in loaded for register in registers)]
    pending = pending[waits[-1] + 1 :] if waits else pending
    if name == "LDG" and registers:
        return [*pending, range(registers[0], registers[0] + max(1, width(modifiers) // 32))]
    return [] if always and name in JUMPS else pending  # what follows in the text does not follow in time


def read(cubin: bytes) -> dict[str, Instructions] | None:
    """Instructions of each kernel of a cubin; None when there is no nvdisasm that reads it."""
    tool = find_nvdisasm()
    text = disassemble(cubin, tool) if tool else None
    return parse(text, _release(tool) >= MARKS_SPILLS) if text else None


@functools.cache
def _release(nvdisasm: Path) -> tuple[int, int]:
    text = subprocess.run([nvdisasm, "--version"], capture_output=True, text=True, timeout=30).stdout
    match = re.search(r"release (\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _package_folders(name: str) -> list[Path]:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []
