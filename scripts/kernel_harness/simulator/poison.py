"""Values that come from memory nobody wrote: followed through registers, reported when they matter.

Compilers load early and padding is read on purpose, so the read itself is no defect. It becomes one when the value
decides a branch, forms an address, or is stored to global memory. Stored to shared memory, it leaves the bytes
unwritten. Across lanes (shuffles, matrix products) a value is followed only within its own lane.
"""

import numpy as np

from . import ptx


class Poison:
    def __init__(self, machine):
        self.machine = machine
        self.masks = {}  # register -> lanes in which it holds such a value
        self.origins = {}  # register -> (index of the load, message, address)

    def __bool__(self):
        return bool(self.masks)

    def begin(self, names, index, origin):
        """Registers `names` of lanes `index` were loaded from unwritten memory."""
        for name in names:
            mask = self.masks.setdefault(name, np.zeros(self.machine.count, dtype=bool))
            mask[index] = True
            self.origins[name] = origin

    def _used(self, operands, lanes):
        for name in _names(operands):
            mask = self.masks.get(name)
            if mask is not None and (mask & lanes.mask).any():
                return name
        return None

    def report(self, name, lanes, how):
        pc, message, address = self.origins[name]
        lane = int(np.flatnonzero(self.masks[name] & lanes.mask)[0])
        _, line = self.machine.program.source(self.machine.instructions[self.machine.current].location)
        where = f" (line {line})" if line else ""
        self.machine.find("uninitialised-read", f"{message}, and {how}{where}", lane, address, 1, pc)
        for other in [n for n, origin in self.origins.items() if origin[0] == pc]:  # one report per load
            self.masks.pop(other, None)
            self.origins.pop(other, None)

    def before(self, pc, lanes):
        """Follows the instruction that `lanes` are about to execute."""
        instruction = self.machine.instructions[pc]
        opcode, operands = instruction.opcode, instruction.operands
        if instruction.predicate is not None and (name := self._used((instruction.predicate,), lanes)):
            return self.report(name, lanes, "decides what is executed with it")
        addresses = [operand.base for operand in operands if isinstance(operand, ptx.Address)]
        if name := self._used(addresses, lanes):
            return self.report(name, lanes, "uses it as an address")
        if opcode in ("red", "atom") and (name := self._used(operands, lanes)):
            return self.report(name, lanes, "combines it with memory")
        if opcode in ("st", "red", "bra", "bar", "barrier", "ret", "exit", "wgmma", "cp", "mbarrier", "stmatrix"):
            return None
        first, sources = operands[:1], operands[1:]
        if opcode == "selp" and not self._used(operands[3:], lanes):
            return self._select(operands, lanes)
        name = self._used(sources, lanes)
        for destination in _names(first):
            mask = self.masks.get(destination)
            if name:
                mask = (
                    self.masks.setdefault(destination, np.zeros(self.machine.count, dtype=bool))
                    if mask is None
                    else mask
                )
                incoming = np.zeros(self.machine.count, dtype=bool)
                for source in _names(sources):
                    if source in self.masks:
                        incoming |= self.masks[source]
                mask[lanes.mask] = incoming[lanes.mask]
                self.origins[destination] = self.origins[name]
            elif mask is not None:
                mask[lanes.mask] = False
                if not mask.any():
                    del self.masks[destination], self.origins[destination]
        return None

    def _select(self, operands, lanes):
        destination, a, b, predicate = operands
        chosen = (
            self.machine.registers.reader(predicate, "pred")
            if isinstance(predicate, ptx.Register)
            else np.ones(self.machine.count, dtype=bool)
        )
        incoming, origin = np.zeros(self.machine.count, dtype=bool), None
        for operand, where in ((a, chosen), (b, ~chosen)):
            name = getattr(operand, "name", None)
            if name in self.masks:
                incoming |= self.masks[name] & where
                origin = self.origins[name]
        mask = self.masks.get(destination.name)
        if origin is not None or mask is not None:
            mask = np.zeros(self.machine.count, dtype=bool) if mask is None else mask
            mask[lanes.mask] = incoming[lanes.mask]
            self.masks[destination.name] = mask
            self.origins[destination.name] = origin or self.origins.get(destination.name)
            if not mask.any():
                del self.masks[destination.name], self.origins[destination.name]

    def stored(self, sources, lanes, parts_of):
        """`sources` were stored; parts_of(index) locates the bytes: [(buffer, positions, offsets, shared)], size."""
        name = self._used(sources, lanes)
        if not name:
            return
        mask = np.zeros(self.machine.count, dtype=bool)
        for source in _names(sources):
            mask |= self.masks.get(source, False)
        parts, nbytes = parts_of(np.flatnonzero(mask & lanes.mask))
        for buffer, _, offsets, shared in parts:
            if not shared and buffer.label != "local memory":
                return self.report(name, lanes, "stores it to global memory")
            buffer.written[offsets[:, None] + np.arange(nbytes)] = False


def _names(operands):
    stack = list(operands)
    while stack:
        operand = stack.pop()
        if isinstance(operand, ptx.Register):
            yield operand.name
        elif isinstance(operand, ptx.Vector):
            stack.extend(operand.items)
        elif isinstance(operand, ptx.Pair):
            stack.extend((operand.first, operand.second))
        elif isinstance(operand, ptx.Negated):
            stack.append(operand.register)
