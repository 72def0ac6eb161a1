"""tcgen05.mma: the instruction descriptor, where the rows of D and A lie in tensor memory, and the product.

PTX ISA, "tcgen05.mma", "Instruction descriptor", "Data Path Layout Organization". Products are formed in float64 and
rounded once per instruction; the hardware accumulates a k-step in an order and precision of its own.
"""

from dataclasses import dataclass

import numpy as np

from . import ptx
from .access import address_reader
from .block_scale import BlockScale, decode_scale, read_factors, take_count
from .legality import tensor_descriptor_problem, tensor_shape_problem
from .numerics import as_int32
from .operand_tiles import PACKED, read_tile
from .synchronization import _values
from .tcgen05 import finish, pair_of, take_group
from .tensor_memory import Area, single_thread
from .warp import ELEMENT_BITS, to_float

# Kind -> code of the element type of A and B -> its name.
_FLOAT8 = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
_ELEMENTS = {
    "f16": {0: "f16", 1: "bf16"}, "tf32": {2: "tf32"}, "f8f6f4": _FLOAT8, "i8": {0: "u8", 1: "s8"},
    "mxf8f6f4": _FLOAT8, "mxf4": {1: PACKED}, "mxf4nvf4": {1: PACKED},
}  # fmt: skip
_RESULTS = {"f16": {0: "f16", 1: "f32"}, "tf32": {1: "f32"}, "f8f6f4": {0: "f16", 1: "f32"}, "i8": {2: "s32"}}
# Bits of the instruction descriptor that must be 0: dense, and what has no field or no meaning here.
_RESERVED, _RESERVED_SCALED = 0x2080_0047, 0x8000_004F
_DTYPES = {"f16": np.float16, "f32": np.float32, "s32": np.int32}


@dataclass(frozen=True)
class Product:
    """What an instruction descriptor says."""

    m: int
    n: int
    a: str
    b: str
    d: str
    signs: int
    a_transposed: bool
    b_transposed: bool
    saturates: bool
    scale: BlockScale | None

    @property
    def k(self):
        return 64 if self.a == PACKED else 256 // ELEMENT_BITS.get(self.a, 8)


def decode(descriptor, kind, count, mods):
    """A 32-bit instruction descriptor -> Product; what is reserved, sparse or unknown is not supported.

    count: scale factors per row, 0 for kinds without.
    """
    fields = {
        "a": _ELEMENTS[kind].get(descriptor >> 7 & 7),
        "b": _ELEMENTS[kind].get(descriptor >> 10 & 7),
        "d": "f32" if count else _RESULTS[kind].get(descriptor >> 4 & 3),
    }
    reserved = descriptor & (_RESERVED_SCALED if count else _RESERVED)
    if reserved or None in fields.values() or (kind != "i8" and descriptor & 8):
        raise mods.unsupported(f"the instruction descriptor 0x{descriptor:x} (sparse, or reserved bits or types)")
    sign = (-1) ** ((descriptor >> 13 & 1) + (descriptor >> 14 & 1))
    return Product(
        (descriptor >> 24 & 31) << 4, (descriptor >> 17 & 63) << 3, **fields, signs=sign,
        a_transposed=bool(descriptor >> 15 & 1), b_transposed=bool(descriptor >> 16 & 1),
        saturates=bool(descriptor & 8), scale=decode_scale(descriptor, count, mods) if count else None,
    )  # fmt: skip


def parts(m, n, group, stationary, start=0):
    """Where D lies: (CTA of the pair, lanes, rows, columns of D), the columns from the address on.

    start: the lane of the address, 0 or 16, for the layout that uses half of the lanes.
    """
    whole, rows = np.arange(n), np.arange(m // group)
    for cta in range(group):
        mine = rows + cta * len(rows)
        if group == 1 and m == 64 and not stationary:
            yield cta, rows // 16 * 32 + rows % 16 + start, mine, whole
            continue
        copies = 128 // len(rows)  # the lanes beside the first rows hold further columns of the same rows
        for number in range(copies):
            yield cta, rows + number * len(rows), mine, whole[number * n // copies : (number + 1) * n // copies]


def bind_mma(machine, instruction, mods):
    group = take_group(mods)
    kind = next((name for name in _ELEMENTS if mods.flag(f"kind::{name}")), None)
    stationary = mods.flag("ws")
    count = take_count(mods, kind)
    mods.skip("collector::*")
    mods.done()
    if kind is None or (count and stationary):
        raise mods.unsupported("kind")
    d_operand, a_operand, b_operand, descriptor, *rest = instruction.operands
    factors = [address_reader(machine, rest.pop(0)) for _ in range(2)] if count else ()
    disabled = rest.pop(0).items if isinstance(rest[0], ptx.Vector) else ()
    disabled = [_values(machine, item, "b32") for item in disabled]
    accumulates = _values(machine, rest[0], "pred")
    if len(rest) > 1 and stationary:
        raise mods.unsupported("a zero-column mask")
    scale = 2.0 ** -rest[1].value if len(rest) > 1 else 1.0
    d_of, descriptors = address_reader(machine, d_operand), _values(machine, descriptor, "b32")
    from_memory = isinstance(a_operand, ptx.Address)
    a_of = address_reader(machine, a_operand) if from_memory else _values(machine, a_operand, "b64")
    b_of = _values(machine, b_operand, "b64")

    def operand(lane, slots, descriptor, rows, product, name):
        """(rows, k) values of an operand that lies in the shared memory of the CTAs, and the offsets it comes from."""
        kind, transposed = getattr(product, name), getattr(product, name + "_transposed")
        shape, first = (rows // len(slots), product.k), int(machine.shared_rank[lane])
        arguments = shape, kind, transposed, "tcgen05.mma", tensor_descriptor_problem
        tiles = [read_tile(machine, lane, first + cta, descriptor, *arguments) for cta in range(len(slots))]
        return np.concatenate([tile for tile, _ in tiles]), [offsets for _, offsets in tiles]

    def memory_operand(lane, area, product, column, clock):
        """The rows of A that lie in the lanes of `area`."""
        known, bits = machine.clocks.known[lane], ELEMENT_BITS[product.a]
        words, missing = machine.tensor_memory.read(area, lane, known, column, clock, "tcgen05.mma reads")
        if missing.any():
            message = f"tcgen05.mma reads {int(missing.sum())} words of tensor memory that nobody wrote"
            machine.find("uninitialised-read", message, lane)
        dtype = {8: np.uint8, 16: np.uint16, 32: np.uint32}[bits]
        return to_float(np.ascontiguousarray(words).view(dtype), product.a)

    def scale_factors(lane, slot, product, rows, column, clock):
        """Factors of a CTA's rows of A and of all rows of B, which each CTA holds; None where they cannot be read."""
        if rows != 128:
            raise mods.unsupported(f"block scaling of {rows} rows of a CTA")
        scale, at = product.scale, [int(factor(np.array([lane]))[0]) for factor in factors]
        sizes = ((at[0], rows, scale.a_start), (at[1], product.n, scale.b_start))
        found = [read_factors(machine, lane, slot, *each, scale, (column, clock)) for each in sizes]
        return None if any(values is None for values in found) else found

    def issue(lane):
        index, clocks, memory = np.array([lane]), machine.clocks, machine.tensor_memory
        slots = pair_of(machine, lane, group, mods)
        product = decode(int(descriptors[lane]), kind, count, mods)
        if problem := tensor_shape_problem(product.m, product.n, group, kind, stationary):
            machine.find("illegal-operand", problem, lane)
            return
        address = int(d_of(index)[0])
        start, first = address >> 16, address & 0xFFFF
        if start and not (start == 16 and group == 1 and product.m == 64 and not stationary):
            message = f"tcgen05.mma with D at lane {start}: it starts at lane 0 (PTX ISA, tcgen05: Data Path Layout)"
            machine.find("illegal-operand", message, lane)
            return
        places = list(parts(product.m, product.n, group, stationary, start))
        areas = [Area(slots[cta], lanes, first + np.arange(len(of))) for cta, lanes, _, of in places]
        if not all([memory.inside(area, lane, "tcgen05.mma writes") for area in areas]):
            return
        b, spans = operand(lane, slots, int(b_of[lane]), product.n, product, "b")
        if not from_memory:
            a, more = operand(lane, slots, int(a_of[lane]), product.m, product, "a")
            spans += more
        column = clocks.tensor_core_column(int(machine.warp_of[lane]))
        clock = clocks.async_read(lane, (np.concatenate(spans), 16), column, "tcgen05.mma")
        left = [None] * len(places)
        if from_memory:
            if stationary or product.a not in ELEMENT_BITS:
                raise mods.unsupported(f"{product.a} of A in tensor memory")
            at = int(a_of(index)[0])
            sources = [Area(area.slot, area.lanes, (at & 0xFFFF) + np.arange(8)) for area in areas]
            if at >> 16 != start or not all([memory.inside(area, lane, "tcgen05.mma reads") for area in sources]):
                machine.find("illegal-operand", "tcgen05.mma with A and D at different lanes, or A outside", lane)
                return
            left = [memory_operand(lane, area, product, column, clock) for area in sources]
        for part, (area, (cta, lanes, rows, of)) in enumerate(zip(areas, places, strict=True)):
            mine, others = (a[rows] if left[part] is None else left[part]).astype(np.float64), b[of]
            if count:
                scales = scale_factors(lane, slots[cta], product, len(rows), column, clock)
                if scales is None:
                    return
                mine = mine * np.repeat(scales[0], product.k // count, axis=1)
                others = others * np.repeat(scales[1], product.k // count, axis=1)
            result = product.signs * (mine @ others.T)
            if accumulates[lane]:
                result = result + scale * _old(machine, memory, area, lane, column, clock, product)
            keep = _kept(disabled, lane, cta, lanes)
            words = _words(result, product)
            memory.write(area, lane, clocks.known[lane], column, clock, "tcgen05.mma writes", words, keep)
            finish(machine, lane, area.slot, column, clock)

    def step(lanes):
        for lane in single_thread(machine, lanes, "tcgen05.mma"):
            issue(lane)

    return step


def _old(machine, memory, area, lane, column, clock, product):
    known = machine.clocks.known[lane]
    words, missing = memory.read(area, lane, known, column, clock, "tcgen05.mma adds to")
    if missing.any():
        message = (
            f"tcgen05.mma adds to {int(missing.sum())} words of tensor memory that nobody wrote: the first of a sum "
            "has enable-input-d false"
        )
        machine.find("uninitialised-read", message, lane)
    if product.d == "f16":
        return (words & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float64)
    return words.view(_DTYPES[product.d]).astype(np.float64)


def _words(result, product):
    if product.d == "s32":
        return as_int32(result, product.saturates).view(np.uint32)
    values = result.astype(_DTYPES[product.d])
    return values.view(np.uint16).astype(np.uint32) if product.d == "f16" else values.view(np.uint32)


def _kept(disabled, lane, cta, lanes):
    """Which lanes the mask of the instruction leaves as they are; None where there is none."""
    words = np.array([int(word[lane]) for word in disabled[4 * cta : 4 * cta + 4]], dtype=np.uint64)
    if not words.any():
        return None
    return (words[lanes // 32] >> (lanes % 32).astype(np.uint64) & np.uint64(1)).astype(bool)
