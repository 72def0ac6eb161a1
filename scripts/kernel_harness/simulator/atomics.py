"""atom and red: what they do to global, shared and distributed shared memory."""

import numpy as np

from . import numerics as nm
from . import ptx
from .access import ORDERING, SCOPES, SPACES, address_reader, load, store
from .operands import NUMPY_TYPES, PAIR_TYPES, Modifiers

_INTEGER_ATOMICS = {
    "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "exch": lambda old, value: value, "inc": lambda old, bound: np.where(old >= bound, 0, old + old.dtype.type(1)),
    "dec": lambda old, bound: np.where((old == 0) | (old > bound), bound, old - old.dtype.type(1)),
}  # fmt: skip


def _bf16_add(old, value):
    return nm.f32_to_bf16(nm.bf16_to_f32(old) + nm.bf16_to_f32(value))


def bind_atom(machine, instruction):
    """atom and red. Lanes that name the same address are served in lane order."""
    mods = Modifiers(instruction)
    [mods.take(name) for name in ORDERING]
    [mods.take(name) for name in SCOPES]
    space = mods.take(*SPACES, default="generic")
    mods.skip("L2::*", "noftz")
    operation = mods.take(*_INTEGER_ATOMICS, "cas")
    count = int(mods.take("v2", "v4", "v8", default="v1")[1])
    kind = mods.type()
    mods.done()
    returns = instruction.opcode == "atom"
    operands = instruction.operands[1:] if returns else instruction.operands
    pairs = kind in PAIR_TYPES
    dtype = np.dtype(PAIR_TYPES[kind] if pairs else NUMPY_TYPES[kind])
    if (
        operation is None
        or kind == "b128"
        or ((kind.startswith("bf16") or kind.startswith("f")) and operation not in ("add", "exch"))
    ):
        raise mods.unsupported(f"{operation} on {kind}")
    function = _bf16_add if kind.startswith("bf16") and operation == "add" else _INTEGER_ATOMICS.get(operation)
    addresses_of = address_reader(machine, operands[0])
    vectors = [operand.items if isinstance(operand, ptx.Vector) else (operand,) for operand in operands[1:]]
    readers = [[machine.registers.reader(item, kind) for item in vector] for vector in vectors]
    elements = count * (2 if pairs else 1)
    nbytes = elements * dtype.itemsize
    targets = []
    if returns:
        destination = instruction.operands[0]
        items = destination.items if isinstance(destination, ptx.Vector) else (destination,)
        storage = "b32" if pairs else kind
        targets = [machine.registers.target(item, storage) for item in items]

    def rows_of(reader_list, index):
        values = np.empty((len(index), count, elements // count), dtype=dtype)
        for position, reader in enumerate(reader_list):
            array = reader[index] if np.ndim(reader) and len(reader) == machine.count else reader
            values[:, position] = array if pairs else np.reshape(array, (-1, 1))
        return values.reshape(len(index), elements)

    def step(lanes):
        index = lanes.index
        if returns:
            machine.poll(lanes)
        addresses = addresses_of(index)
        values = [rows_of(reader_list, index) for reader_list in readers]
        old_rows = np.zeros((len(index), elements), dtype=dtype)
        # Rounds of lanes with distinct addresses keep the serial order of an address.
        remaining = np.arange(len(index))
        while len(remaining):
            _, first = np.unique(addresses[remaining], return_index=True)
            now = remaining[np.sort(first)]
            old = load(machine, space, addresses[now], index[now], nbytes, atomic=True).view(dtype)
            if operation == "cas":
                new = np.where((old == values[0][now]).all(axis=1)[:, None], values[1][now], old)
            else:
                new = function(old, values[0][now]).astype(dtype)
            store(machine, space, addresses[now], index[now], np.ascontiguousarray(new).view(np.uint8), atomic=True)
            old_rows[now] = old
            remaining = np.setdiff1d(remaining, now, assume_unique=True)
        stored = old_rows.view(np.uint32) if pairs else old_rows
        for position, target in enumerate(targets):
            if target is not None:
                target[index] = stored[:, position]

    return step
