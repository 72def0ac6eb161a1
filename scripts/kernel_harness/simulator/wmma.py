"""wmma.load, wmma.mma and wmma.store: whole matrices that a warp multiplies.

PTX ISA, "Warp-level Matrix: wmma.load, wmma.store, wmma.mma". Which element a register holds is left open there; as in
the code of ptxas 13 for sm_90a, a fragment is made of those of mma.sync: 16 rows and k for the operand of more
rows, which is A unless m is 8, 8 rows and k for the other one, and 16 by 8 for each tile of sums; what registers of f16
there are beyond these repeat them. Pointers must be multiples of their fragment's bytes, as the manual has it, and rows
of 16 bytes, as the CUDA C++ Programming Guide allows.
"""

import re
from dataclasses import dataclass

import numpy as np

from . import ptx
from .access import SPACES, address_reader, load, store
from .operands import Modifiers
from .synchronization import _values
from .warp import ALL, ELEMENT_BITS, fragment, multiplier, positions

_LARGE = ("m16n16k16", "m32n8k16", "m8n32k16")
_SHAPES = {"f16": _LARGE, "bf16": _LARGE, "s8": _LARGE, "u8": _LARGE, "tf32": ("m16n16k8",)}  # by the type of A
_SUMS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "s8": ("s32",), "u8": ("s32",)}
_BITS = ELEMENT_BITS | {"f32": 32, "s32": 32}
_DTYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32}


@dataclass(frozen=True)
class Fragment:
    """One of the matrices a, b, c of a shape (m, n, k), and how memory and the registers of a warp hold it."""

    matrix: str
    shape: tuple
    kind: str
    is_row_major: bool = True

    @property
    def size(self):
        """(rows, columns), which are (m, k), (n, k) and (m, n)."""
        m, n, k = self.shape
        return {"a": (m, k), "b": (n, k), "c": (m, n)}[self.matrix]

    @property
    def lies_in_rows(self):
        """Whether the lines of memory are rows; b is (k, n) in memory."""
        return self.is_row_major != (self.matrix == "b")

    @property
    def lines(self):
        """(lines of memory, bytes of each)."""
        count, elements = self.size if self.lies_in_rows else self.size[::-1]
        return count, elements * _BITS[self.kind] // 8

    @property
    def distinct(self):
        """Registers that hold the matrix once."""
        return self.size[0] * self.size[1] * _BITS[self.kind] // 1024

    @property
    def registers(self):
        return 8 if self.matrix != "c" and self.kind == "f16" else self.distinct

    def places(self):
        """(rows, columns) of the elements of a lane's distinct registers, (32, elements) each."""
        m, n, k = self.shape
        is_turned = m == 8
        if self.matrix != "c":
            per, role = (8, "b") if (self.matrix == "b") != is_turned else (16, "a")
            return _tiled(positions(self.kind, per, k, role), range(0, self.size[0], per), (0,))
        tall, wide = (n, m) if is_turned else (m, n)
        places = _tiled(positions(None, 0, 0, "c"), range(0, tall, 16), range(0, wide, 8))
        return places[::-1] if is_turned else places


def _tiled(places, rows, columns):
    starts = [(row, column) for row in rows for column in columns]
    return tuple(np.concatenate([places[axis] + start[axis] for start in starts], axis=1) for axis in (0, 1))


def piece_bytes(instruction):
    """What one access to memory moves: 16 bytes, or the fragment where that is less."""
    if instruction.modifiers[0] == "mma":
        return 16
    vector = next(operand for operand in instruction.operands if isinstance(operand, ptx.Vector))
    return min(16, 4 * len(vector.items))


def bind_wmma(machine, instruction):
    mods = Modifiers(instruction)
    action = mods.take("load", "store", "mma")
    mods.skip("sync", "aligned")
    shape = next((m for m in mods.left if re.fullmatch(r"m\d+n\d+k\d+", m)), "")
    mods.take(shape)
    sizes = tuple(int(number) for number in re.findall(r"\d+", shape))
    if action == "mma":
        execute = _multiply(machine, instruction, mods, shape, sizes)
    else:
        execute = _move(machine, instruction, mods, action, shape, sizes)
    return lambda lanes: machine.collective(lanes, ALL, execute)


def _checked(mods, fragment, items):
    if len(items) != fragment.registers:
        raise mods.unsupported(f"a fragment of {len(items)} registers")
    return items


def _multiply(machine, instruction, mods, shape, sizes):
    mods.left = [m for m in mods.left if m not in ("row", "col")]
    saturates, kinds = mods.flag("satfinite"), mods.left
    if len(kinds) == 2:  # f16 products name the types of D and C alone
        kinds = [kinds[0], "f16", "f16", kinds[1]]
    d, a, b, c = kinds if len(kinds) == 4 else [None] * 4
    if shape not in _SHAPES.get(a, ()) or a != b or not {c, d} <= set(_SUMS[a]) or (saturates and d != "s32"):
        raise mods.unsupported("shape, type or modifier")
    fragments = [Fragment(*form) for form in (("c", sizes, d), ("a", sizes, a), ("b", sizes, b), ("c", sizes, c))]
    held = [_checked(mods, f, operand.items) for f, operand in zip(fragments, instruction.operands, strict=True)]
    sources = [
        [_values(machine, item, "b32") for item in items[: f.distinct]]
        for f, items in zip(fragments[1:], held[1:], strict=True)
    ]
    targets = [machine.registers.array(item.name) for item in held[0]]
    return multiplier(sources, targets, [f.places() for f in fragments[1:]], sizes, (d, a, b, c), saturates)


def _move(machine, instruction, mods, action, shape, sizes):
    matrix, layout = mods.take("a", "b", "c", "d"), mods.take("row", "col")
    space = mods.take(*SPACES, default="generic")
    kind = mods.left.pop() if len(mods.left) == 1 else None
    mods.done()
    of_sums = matrix in ("c", "d")
    inputs = [a for a in _SHAPES if shape in _SHAPES[a] and (kind in _SUMS[a] if of_sums else kind == a)]
    if layout is None or not inputs or matrix not in (("d",) if action == "store" else ("a", "b", "c")):
        raise mods.unsupported("matrix, shape or type")
    held = Fragment("c" if of_sums else matrix, sizes, kind, layout == "row")
    operands = list(instruction.operands)
    vector, address = operands[:2] if action == "load" else operands[1::-1]
    items = _checked(mods, held, vector.items)
    addresses_of, piece = address_reader(machine, address), piece_bytes(instruction)
    element, (lines, line_bytes) = _BITS[kind] // 8, held.lines
    strides = ptx.Immediate(line_bytes // element) if len(operands) < 3 else operands[2]
    strides = _values(machine, strides, "u32")
    line, start = (each.ravel() for each in np.mgrid[:lines, :line_bytes:piece])
    rows, columns = held.places()

    def pieces(index):
        """(addresses, lanes) of the pieces of each warp's matrix; its lanes take turns."""
        lanes, stride = index.reshape(-1, 32), strides[index].reshape(-1, 32).astype(np.uint64)
        bases = addresses_of(index).reshape(-1, 32)
        _check(machine, lanes, bases, stride, 4 * len(items))
        steps = line.astype(np.uint64) * stride[:, :1] * np.uint64(element) + start.astype(np.uint64)
        return (bases[:, :1] + steps).ravel(), lanes[:, np.arange(len(line)) % 32].ravel()

    def fetch(lanes):
        data = load(machine, space, *pieces(lanes.index), piece).reshape(-1, line_bytes).view(_DTYPES[8 * element])
        data = data.reshape(-1, lines, line_bytes // element)
        matrices = data if held.lies_in_rows else data.swapaxes(1, 2)
        registers = np.ascontiguousarray(matrices[:, rows, columns]).view(np.uint32).reshape(len(lanes.index), -1)
        for position, target in enumerate(targets):
            target[lanes.index] = registers[:, position % held.distinct]

    def put(lanes):
        matrices = np.zeros((len(lanes.index) // 32, *held.size), dtype=_DTYPES[8 * element])
        matrices[:, rows, columns] = fragment(sources, lanes.index, 8 * element)
        data = matrices if held.lies_in_rows else matrices.swapaxes(1, 2)
        store(machine, space, *pieces(lanes.index), np.ascontiguousarray(data).view(np.uint8).reshape(-1, piece))

    if action == "load":
        targets = [machine.registers.array(item.name) for item in items]
        return fetch
    sources = [_values(machine, item, "b32") for item in items]
    return put


def _check(machine, lanes, bases, stride, nbytes):
    """The threads of a warp must name the same matrix, whose pointer is a multiple of its fragment's bytes."""
    differ = ((bases != bases[:, :1]) | (stride != stride[:, :1])).any(axis=1)
    if differ.any():
        message = "the threads of a warp name different pointers or strides (PTX ISA, wmma.load, wmma.store)"
        machine.find("illegal-operand", message, int(lanes[differ][0, 0]))
    wrong = bases[:, 0] % np.uint64(nbytes) != 0
    if wrong.any():
        address, what = int(bases[wrong][0, 0]), f"a matrix whose fragment has {nbytes} bytes"
        message = f"{what} begins at 0x{address:x}, no multiple of that (PTX ISA, Matrix Storage for WMMA)"
        machine.find("misaligned", message, int(lanes[wrong][0, 0]), address)
