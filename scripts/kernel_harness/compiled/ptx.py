"""Facts of PTX text: entry points, launch bounds, and the width of each global access with the parameter it comes from.

It reads what CuTe DSL and Triton emit: one instruction per line, each register assigned in order (standard library
only). simulator/ptx.py is the parser that runs PTX; this one only counts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field

ENTRY = re.compile(r"^\s*(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+)")
PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr\s+\S*\s*(?:\.align\s+\d+\s+)?)?([\w$]+)(?:\[(\d+)\])?"
)
BOUND = re.compile(
    r"^\s*\.(reqntid|maxntid|minnctapersm|maxnreg|reqnctapercluster|maxclusterrank|explicitcluster)\b\s*([\d,\s]*)"
)
LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"')
TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.M)
NOT_CODE = re.compile(r"//.*|^\s*\.(version|target|loc|file)\b.*", re.M)
INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w]*(?:[.:]{1,2}[\w]+)*)\s*(.*?);")
REGISTER = re.compile(r"%[a-zA-Z_]\w*")
TYPE_BITS = re.compile(r"[busfe](\d+)(?:x(\d))?$|bf16$|pred$")
FAMILIES = (
    "mma.sync",
    "wgmma.mma_async",
    "tcgen05.mma",
    "cp.async.bulk.tensor",
    "cp.async.bulk",
    "cp.async",
    "ldmatrix",
    "stmatrix",
    "red",
    "atom",
    "mbarrier",
    "bar",
    "barrier",
)


@dataclass(frozen=True)
class Access:
    """One global load or store: ``bits`` per thread in all, in elements of ``element_bits``.

    parameters: (parameter index, byte offset) of the kernel parameters that its address is computed from.
    """

    kind: str
    bits: int
    element_bits: int
    parameters: frozenset[tuple[int, int]]
    file: str
    line: int


@dataclass
class Entry:
    """One kernel. bounds: {"reqntid": (512, 1, 1), "minnctapersm": (1,), ...}; families: instruction counts."""

    name: str
    parameters: list[str] = field(default_factory=list)
    bounds: dict[str, tuple[int, ...]] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    families: Counter = field(default_factory=Counter)


def target(text: str) -> str:
    """``sm_90a`` of ``.target sm_90a``; "" when there is none."""
    match = TARGET.search(text)
    return match[1] if match else ""


def digest(text: str) -> str:
    """Equal for the same instructions, whatever target and source lines the text names."""
    lines = (line.strip() for line in NOT_CODE.sub("", text).splitlines())
    return hashlib.sha256("\n".join(filter(None, lines)).encode()).hexdigest()[:16]


def parse(text: str) -> dict[str, Entry]:
    """The entry points of a PTX module by name."""
    files = {match[1]: match[2] for match in map(FILE.match, text.splitlines()) if match}
    entries: dict[str, Entry] = {}
    entry, sources, position, in_header, depth = None, {}, ("", 0), False, 0
    for row in text.splitlines():
        if match := ENTRY.match(row):
            entry, sources, position = entries.setdefault(match[1], Entry(match[1])), {}, ("", 0)
            in_header, depth = True, 0
        if entry is None:
            continue
        depth += row.count("{") - row.count("}")  # inline assembly opens scopes of its own
        if in_header:
            entry.parameters += [match[2] for match in PARAMETER.finditer(row)]
            in_header = depth == 0
        if match := BOUND.match(row):
            entry.bounds[match[1]] = tuple(int(n) for n in match[2].replace(" ", "").split(",") if n)
        elif match := LOC.match(row):
            position = files.get(match[1], ""), int(match[2])
        elif depth == 0 and not in_header:
            entry = None
        elif match := INSTRUCTION.match(row):
            _instruction(entry, match[1], match[2], sources, position)
    return entries


def _instruction(entry: Entry, opcode: str, operands: str, sources: dict, position: tuple[str, int]) -> None:
    family = next((name for name in FAMILIES if opcode == name or opcode.startswith(name + ".")), None)
    if family:
        entry.families[family] += 1
    parts = opcode.split(".")
    destination, _, rest = operands.partition("," if not operands.startswith("{") else "}")
    if parts[0] in ("ld", "st") and "global" in parts:
        bits, element = _width(parts)
        address = re.search(r"\[([^\]]*)\]", operands)
        read = [sources.get(r, frozenset()) for r in REGISTER.findall(address[1])] if address else []
        entry.accesses.append(Access(parts[0], bits, element, frozenset().union(*read), *position))
    if parts[0] == "st":
        return
    if parts[0] == "ld" and "param" in parts:
        address = re.search(r"\[([\w$]+)(?:\+(\d+))?\]", operands)
        found = frozenset()
        if address and address[1] in entry.parameters:
            size, offset = _width(parts)[1] // 8, int(address[2] or 0)
            index = entry.parameters.index(address[1])
            for i, register in enumerate(REGISTER.findall(destination)):
                sources[register] = frozenset({(index, offset + i * size)})
            return
    elif parts[0] == "ld":
        found = frozenset()  # a loaded value: what it points to is another tensor's business
    else:
        found = frozenset().union(*(sources.get(register, frozenset()) for register in REGISTER.findall(rest)))
    for register in REGISTER.findall(destination):
        sources[register] = sources.get(register, frozenset()) | found


def _width(parts: list[str]) -> tuple[int, int]:
    """(bits in all, bits of one element) of the modifiers of a load or store."""
    lanes = next((int(part[1]) for part in parts if part in ("v2", "v4", "v8")), 1)
    match = next((m for m in map(TYPE_BITS.match, reversed(parts)) if m), None)
    element = int(match[1] or 16) if match else 32
    return lanes * element, element
