"""Conflicts between CTAs over global memory.

CTAs of a launch run in any order unless the kernel synchronises them itself. Kernels that do (atomics, acquire and
release, GPU-wide fences) are left alone: which of their accesses are ordered is not worked out. In all others, one CTA
must not read or change what another one writes. Writing a value that is already there is no conflict. The unit is the
cluster, whose CTAs can be ordered by its barrier.
"""

import numpy as np

from . import ptx

_SEVERAL = -1  # readers from more than one unit
_ORDERING = {"acquire", "release", "acq_rel", "relaxed", "volatile", "mmio"}
_NOT_GLOBAL = {"shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func"}


def _synchronises_ctas(instruction):
    words = set(instruction.modifiers)
    if instruction.opcode in ("atom", "red"):
        return not words & _NOT_GLOBAL
    if instruction.opcode in ("ld", "st"):
        return bool(words & _ORDERING) and not words & _NOT_GLOBAL
    if instruction.opcode in ("fence", "membar"):
        return bool(words & {"gpu", "sys", "gl"})
    return instruction.opcode == "cp" and "reduce" in words


def _granule(kernel):
    smallest = 16
    for instruction in kernel.instructions:
        if instruction.opcode in ("ld", "st") and not set(instruction.modifiers) & _NOT_GLOBAL:
            smallest = min(smallest, ptx.type_bytes(instruction.modifiers[-1]))
        elif instruction.opcode == "cp":
            smallest = min(smallest, 1 if "tensor" in instruction.modifiers else 4)
    return smallest


def _split(offsets, nbytes, element, lanes):
    """The same accesses, `element` bytes each: offsets, bytes, lanes."""
    return (offsets[:, None] + np.arange(0, nbytes, element)).ravel(), element, np.repeat(lanes, nbytes // element)


class GlobalRaces:
    def __init__(self, kernel):
        self.active = not any(_synchronises_ctas(instruction) for instruction in kernel.instructions)
        self.granule = _granule(kernel)
        self._states = {}

    def _state(self, buffer):
        """(writer, reader) unit per granule, counted from 1."""
        if buffer not in self._states:
            size = len(buffer) // self.granule + 1
            self._states[buffer] = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32)
        return self._states[buffer]

    def _granules(self, offsets, nbytes):
        count = max(nbytes // self.granule, 1)
        return (offsets[:, None] // self.granule + np.arange(count)) if count > 1 else offsets[:, None] // self.granule

    def read(self, machine, buffer, offsets, nbytes, lanes, element=None):
        """Accesses of `nbytes`; conflicts are reported in accesses of `element` bytes, where given."""
        writer, reader = self._state(buffer)
        granules, unit = self._granules(offsets, nbytes), machine.unit[lanes][:, None]
        other = (writer[granules] != 0) & (writer[granules] != unit)
        if other.any():
            if element and element < nbytes:
                return self.read(machine, buffer, *_split(offsets, nbytes, element, lanes))
            self._report(machine, buffer, offsets, lanes, other.any(axis=1), "reads", "writes")
        before = reader[granules]
        reader[granules] = np.where((before == 0) | (before == unit), unit, _SEVERAL)

    def write(self, machine, buffer, offsets, nbytes, lanes, rows, element=None):
        """Like `read`, of the bytes `rows`."""
        writer, reader = self._state(buffer)
        granules, unit = self._granules(offsets, nbytes), machine.unit[lanes][:, None]
        changes = (buffer.gather(offsets, nbytes) != rows).any(axis=1)
        for state, verb in ((writer, "writes"), (reader, "reads")):
            other = ((state[granules] != 0) & (state[granules] != unit)).any(axis=1) & changes
            if other.any():
                if element and element < nbytes:
                    split = _split(offsets, nbytes, element, lanes)
                    return self.write(machine, buffer, *split, np.ascontiguousarray(rows).reshape(-1, element))
                self._report(machine, buffer, offsets, lanes, other, "changes", verb)
                break
        writer[granules] = unit
        lost = (writer[granules] != unit).any(axis=1)  # CTAs that run together wrote it in this very instruction
        if lost.any():
            last = len(offsets) - 1 - np.unique(offsets[::-1], return_index=True)[1]
            kept = rows[last[np.searchsorted(offsets[last], offsets)]]
            lost &= (kept != rows).any(axis=1)
            if lost.any():
                self._report(machine, buffer, offsets, lanes, lost, "changes", "writes")

    def _report(self, machine, buffer, offsets, lanes, wrong, verb, other):
        from .access import describe

        first = int(np.flatnonzero(wrong)[0])
        message = f"{verb} {describe(buffer, offsets[first])}, which another CTA {other} in the same launch"
        machine.find("race", message, int(lanes[first]), buffer.base + int(offsets[first]), int(wrong.sum()))
