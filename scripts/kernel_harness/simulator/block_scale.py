"""The scale factors of block-scaled tcgen05.mma: which forms there are, and where the factors lie in tensor memory.

PTX ISA, "tcgen05: Block Scaling". The factor of row m is a byte of the word in lane m % 32 and column m / 32, and all
four groups of 32 lanes hold the same words, as tcgen05.cp with .warpx4 leaves them.
"""

from dataclasses import dataclass

import numpy as np

from . import numerics as nm
from .tensor_memory import LANES, Area

_VALUES = {"ue4m3": nm.FP8_VALUES["e4m3"][:128], "ue8m0": np.append(2.0 ** (np.arange(255) - 127.0), np.nan)}
# Kind -> qualifier (None: where none is written) -> factors per row and instruction.
_COUNTS = {
    "mxf8f6f4": {None: 1, "scale_vec::1X": 1, "block32": 1},
    "mxf4": {None: 2, "scale_vec::2X": 2, "block32": 2},
    "mxf4nvf4": {"scale_vec::2X": 2, "block32": 2, "scale_vec::4X": 4, "block16": 4},
}


@dataclass(frozen=True)
class BlockScale:
    """Factors per row, their format, and their first byte in the words of A and of B."""

    count: int
    format: str
    a_start: int
    b_start: int


def take_count(mods, kind):
    """Factors per row from the modifiers of an instruction; 0 where it has none."""
    scaled = mods.flag("block_scale")
    if scaled != (kind in _COUNTS):
        raise mods.unsupported("kind")
    name = mods.take("scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32")
    count = _COUNTS.get(kind, {None: 0}).get(name)
    if count is None:
        raise mods.unsupported(f".{name} of the kind")
    return count


def decode_scale(descriptor, count, mods):
    """The fields of the instruction descriptor that only block-scaled kinds have."""
    exponents = descriptor >> 23 & 1
    starts = descriptor >> 29 & 3, descriptor >> 4 & 3
    if any(start % count for start in starts) or (count == 4 and any(starts)) or (not exponents and count != 4):
        raise mods.unsupported(f"the instruction descriptor 0x{descriptor:x} (scale format or scale factor ID)")
    return BlockScale(count, "ue8m0" if exponents else "ue4m3", *starts)


def read_factors(machine, lane, slot, address, rows, start, scale, agent):
    """(rows, factors) values in the CTA of `slot`; None where they are not allocated. agent: (column, clock)."""
    memory, first = machine.tensor_memory, address & 0xFFFF
    area = Area(slot, np.arange(LANES), first + np.arange(-(-rows // 32)))
    if address >> 16 & 0x3FFF:
        message = f"scale factors at lane {address >> 16 & 0x3FFF} of tensor memory; they start at lane 0"
        machine.find("illegal-operand", f"{message} (PTX ISA, tcgen05: Block Scaling)", lane)
        return None
    if not memory.inside(area, lane, "tcgen05.mma reads scale factors of"):
        return None
    words, missing = memory.read(area, lane, machine.clocks.known[lane], *agent, "tcgen05.mma reads scale factors of")
    used = np.arange(words.shape[1]) * 32 + np.arange(LANES)[:, None] % 32 < rows
    if (missing & used).any():
        message = f"tcgen05.mma reads {int((missing & used).sum())} words of scale factors that nobody wrote"
        machine.find("uninitialised-read", message, lane)
    groups = np.where(used, words, 0).reshape(4, 32, -1)
    if (groups != groups[0]).any():
        message = "the scale factors differ between the groups of 32 lanes of tensor memory; each holds all of them"
        machine.find("illegal-operand", f"{message} (PTX ISA, tcgen05: Block Scaling)", lane)
    codes = np.ascontiguousarray(groups[0].T).reshape(-1, 1).view(np.uint8)[:rows, start : start + scale.count]
    values = _VALUES[scale.format]
    return values[codes.astype(np.int64) % len(values)].astype(np.float64)
