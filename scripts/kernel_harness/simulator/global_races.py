"""Conflicts over global memory: between CTAs, and between the threads of one.

CTAs of a launch run in any order unless the kernel synchronises them itself: one CTA must not read or change what
another one writes, but after it has acquired a release that follows the write (global_order.py). Relaxed atomics order
nothing (PTX ISA, memory consistency model): a kernel may read and reset what it counts by them, but not hand on other
data. The unit is the cluster, whose CTAs can be ordered by its barrier. Between the CTAs of kernels with reducing bulk
copies, which commute, nothing is looked for.

Within a unit an access must be ordered after what other threads did there, by the clocks of races.py, as for shared
memory, or like another unit's; kernels with fences or ordered accesses of less than the GPU are left alone. Atomics do
not conflict with each other. Bulk and tensor copies are looked at between units only. Writing a value that is already
there is no conflict, nor is a read that makes no difference (decoys.py).
"""

import math

import numpy as np

from . import decoys, ptx
from .global_order import Order, fences, fences_ctas
from .wmma import piece_bytes

NO_ORDER = "relaxed atomics order nothing"
NO_RELEASE = "no fence or release behind that access has reached this thread by a strong read"
_ORDERS = {"acquire", "release", "acq_rel"}
_STRONG = _ORDERS | {"relaxed", "volatile", "mmio"}
_NOT_GLOBAL = {"shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func"}

# Who touched a granule is one number: unit, lane, flags, and the clock of the warp. 0 is nobody.
_CLOCK = (1 << 23) - 1
_SEVERAL, _COPY = 1 << 23, 1 << 24  # more lanes of this warp touched it; a copy did
_LANE, _WARP, _UNIT = 25, 30, 41  # where lane, warp and unit begin
_LOG = 1 << 21  # reads of a buffer that are kept until somebody writes it


def _strong(instruction):
    words = set(instruction.modifiers)
    if words & _NOT_GLOBAL:
        return False
    return instruction.opcode in ("atom", "red") or (instruction.opcode in ("ld", "st") and bool(words & _STRONG))


def _orders_ctas(instruction):
    words = set(instruction.modifiers)
    return (_strong(instruction) and bool(words & _ORDERS)) or fences_ctas(instruction)


def _releases(instruction):
    return _strong(instruction) and not {"release", "acq_rel"}.isdisjoint(instruction.modifiers)


def _reduces(instruction):
    return instruction.opcode == "cp" and "reduce" in instruction.modifiers


def _orders_less(instruction):
    """Does it order threads of a CTA or cluster alone, which global_order.py does not follow?"""
    words = set(instruction.modifiers)
    orders = fences(instruction) or (_strong(instruction) and bool(words & _ORDERS))
    return orders and bool(words & {"cta", "cluster"})


def _granule(kernel):
    smallest = 16
    for instruction in kernel.instructions:
        if instruction.opcode in ("ld", "st", "atom", "red") and not set(instruction.modifiers) & _NOT_GLOBAL:
            smallest = min(smallest, ptx.type_bytes(instruction.modifiers[-1]))
        elif instruction.opcode == "cp":
            smallest = min(smallest, 1 if "tensor" in instruction.modifiers else 4)
        elif instruction.opcode == "wmma":
            smallest = min(smallest, piece_bytes(instruction))
    return smallest


def _split(offsets, nbytes, element, lanes):
    """The same accesses, `element` bytes each: offsets, bytes, lanes."""
    return (offsets[:, None] + np.arange(0, nbytes, element)).ravel(), element, np.repeat(lanes, nbytes // element)


class _Latest:
    """Who touched each granule last, and last of other warps and units than that: one of the three is not who asks."""

    def __init__(self, size):
        self.last, self.others = np.zeros(size, dtype=np.int64), {}  # others: made when somebody is there

    @property
    def tables(self):
        return (self.last, *self.others.values())

    def add(self, granules, codes):
        codes = np.broadcast_to(codes[:, None], granules.shape)
        before = self.last[granules]
        self._replaced(granules, before, codes)
        differ = before ^ codes
        several = (differ >> _WARP == 0) & (differ & _CLOCK == 0) & ((differ >> _LANE != 0) | (before & _SEVERAL != 0))
        codes = np.where(several, codes | _SEVERAL, codes)
        self.last[granules] = codes
        kept = self.last[granules]
        lost = (kept ^ codes) >> _LANE != 0  # to a lane that touches it in the same instruction
        if lost.any():
            granules, codes, kept = granules[lost], codes[lost], kept[lost]
            self._replaced(granules, codes, kept)
            self.last[granules[(kept ^ codes) >> _WARP == 0]] |= _SEVERAL

    def _replaced(self, granules, before, now):
        if not before.any():
            return
        for bits in (_WARP, _UNIT):
            moved = ((before ^ now) >> bits != 0) & (before != 0)
            if moved.any():
                if bits not in self.others:
                    self.others[bits] = np.zeros_like(self.last)
                self.others[bits][granules[moved]] = before[moved]


class _Record:
    """Who touched each granule of one buffer. Before the first write nobody asks: reads are only listed until then."""

    def __init__(self, size):
        self.size, self.log, self.logged = size, [], 0
        self.levels = None  # decoys.Decoys: how near those are that race for a granule, at the nearest
        self.writer = self.readers = self.atomics = None  # the last writer, _Latest, _Latest

    def tables(self, reads, atomic):
        """(verb, table, is neither access atomic?) of what an access must be ordered after."""
        writers = () if self.writer is None else (self.writer,)
        atomics = () if self.atomics is None or atomic else self.atomics.tables
        readers = () if self.readers is None or reads else self.readers.tables
        weak = (("write", writers, not atomic), ("write", atomics, False), ("read", readers, not atomic))
        return [(verb, table, is_weak) for verb, tables, is_weak in weak for table in tables]


class GlobalRaces:
    """The accesses of one launch. decoys: reads that get bytes of no meaning and race with nobody."""

    def __init__(self, kernel, decoys=None):
        self.decoys = decoys
        self.has_order = any(map(_orders_ctas, kernel.instructions))  # the kernel orders its CTAs itself
        self.counts = any(map(_strong, kernel.instructions))  # relaxed atomics, for which CTAs need no order
        self.between = not any(map(_reduces, kernel.instructions))
        self.releases = [_releases(instruction) for instruction in kernel.instructions]
        self.order = None
        is_followed = self.between or not self.has_order
        self.within = is_followed and not (self.counts and any(map(_orders_less, kernel.instructions)))
        self.active = self.between or self.within
        self.granule = _granule(kernel)
        self._records = {}

    def start(self, machine):
        """A wave of CTAs begins, whose lanes belong to machine.unit, counted from 1. Returns the clocks' columns."""
        self._who = machine.unit.astype(np.int64) << _UNIT | np.arange(machine.count) << _LANE
        if self.has_order and self.between and self.order is None:
            ctas, size = math.prod(machine.launch.grid), machine.cluster_size
            self.order = Order(ctas // size, machine.lanes_per_cta * size)
        return self.order.columns if self.order else 0

    def _record(self, buffer):
        if buffer not in self._records:
            self._records[buffer] = _Record(len(buffer) // self.granule + 2)  # the last one is that of the decoys
        return self._records[buffer]

    @property
    def levels(self):
        return {buffer: record.levels for buffer, record in self._records.items() if record.levels is not None}

    def writers(self, buffer):
        record = self._records[buffer]
        return np.zeros(record.size, dtype=np.int64) if record.writer is None else record.writer

    def _codes(self, machine, lanes, is_copy):
        clocks = machine.clocks
        return self._who[lanes] | clocks.known[lanes, clocks.own[lanes]] | (_COPY if is_copy else 0)

    def _granules(self, offsets, nbytes):
        count = max(nbytes // self.granule, 1)
        return (offsets[:, None] // self.granule + np.arange(count)) if count > 1 else offsets[:, None] // self.granule

    def _decoys(self, machine, buffer, granules, codes, lanes):
        """Which granules (n, k) the plain loads of `lanes` get decoys for: not those that they are ordered after."""
        which, writer = self.decoys.which(buffer, granules, codes), self._record(buffer).writer
        if writer is None or not which.any():
            return which
        before = writer[granules]
        unordered = self._conflicts(machine, before, codes, lanes, True)
        return which & (before == 0 if unordered is None else (before == 0) | unordered)

    def read(self, machine, buffer, offsets, nbytes, lanes, element=None, atomic=False):
        """Accesses of `nbytes`. A copy gives the bytes of its `element`, in which its conflicts are reported.

        Returns which bytes (n, nbytes) are to be replaced by decoys, or None.
        """
        if not self.active:
            return None
        if atomic and self.order:
            self.order.read(buffer, offsets, lanes)
        record, codes = self._record(buffer), self._codes(machine, lanes, element)
        plain = self.decoys and not atomic and not element
        if not plain and record.writer is record.atomics is None:
            if not atomic:
                record.log.append((offsets, nbytes, codes))
                record.logged += len(codes)
                if record.logged > _LOG:
                    self._tabulate(record)
            return None
        granules, found, replaced = self._granules(offsets, nbytes), False, None
        if plain:
            which = self._decoys(machine, buffer, granules, codes, lanes)
            granules[which] = record.size - 1
            replaced = np.repeat(which, nbytes // which.shape[1], axis=1)
        for verb, table, is_weak in record.tables(True, atomic):
            before = table[granules]
            is_data = self._is_data(record, granules, is_weak)
            wrong = self._conflicts(machine, before, codes, lanes, is_data)
            if wrong is not None:
                if element and element < nbytes:
                    self.read(machine, buffer, *_split(offsets, nbytes, element, lanes), element)
                    return None
                self._note(record, granules, before, codes, wrong)
                if not found:
                    self._report(machine, buffer, offsets, lanes, wrong, before, "reads", verb)
                found = True
        if not atomic:
            record.readers = record.readers or _Latest(record.size)
            record.readers.add(granules, codes)
        return replaced

    def _tabulate(self, record):
        if record.log:
            record.readers = record.readers or _Latest(record.size)
        for offsets, nbytes, codes in record.log:
            record.readers.add(self._granules(offsets, nbytes), codes)
        record.log, record.logged = [], 0

    def write(self, machine, buffer, offsets, nbytes, lanes, rows, element=None, atomic=False):
        """Like `read`, of the bytes `rows`, which are about to be written."""
        if not self.active:
            return
        record, codes = self._record(buffer), self._codes(machine, lanes, element)
        self._tabulate(record)
        granules = self._granules(offsets, nbytes)
        changes, found = (buffer.gather(offsets, nbytes) != rows).any(axis=1), False
        for verb, table, is_weak in record.tables(False, atomic) if changes.any() else ():
            before = table[granules]
            is_data = self._is_data(record, granules, is_weak)
            wrong = self._conflicts(machine, before, codes, lanes, is_data, changes, verb == "read")
            if wrong is not None:
                if element and element < nbytes:
                    split = _split(offsets, nbytes, element, lanes)
                    self.write(machine, buffer, *split, np.ascontiguousarray(rows).reshape(-1, element), element)
                    return
                if verb == "read":
                    self._note(record, granules, before, codes, wrong)
                if not found:
                    self._report(machine, buffer, offsets, lanes, wrong, before, "changes", verb)
                found = True
        if atomic:
            record.atomics = record.atomics or _Latest(record.size)
            record.atomics.add(granules, codes)
            if self.order:
                self.order.write(buffer, offsets, lanes, self.releases[machine.current])
            return
        if record.writer is None:
            record.writer = np.zeros(record.size, dtype=np.int64)
        record.writer[granules] = codes[:, None]
        lost = (record.writer[granules] ^ codes[:, None]) >> _LANE != 0
        if lost.any():  # to another thread that writes it in this very instruction
            buffer.scatter(offsets, rows)
            lost &= (buffer.gather(offsets, nbytes) != rows).any(axis=1)[:, None]
            if lost.any():
                self._report(machine, buffer, offsets, lanes, lost, record.writer[granules], "changes", "write")

    def _is_data(self, record, granules, is_weak):
        """Which granules CTAs must not share unordered: all, but those that they use relaxed atomics on."""
        if not self.counts:
            return True
        return is_weak and (record.atomics is None or record.atomics.last[granules] == 0)

    def _conflicts(self, machine, before, codes, lanes, is_data, which=True, were_reads=False):
        """Of the accesses `which`, the (access, granule) pairs that are not ordered after `before`; None if all are."""
        codes = codes[:, None]
        differ = before ^ codes
        other = (before != 0) & ((differ >> _LANE != 0) | (before & _SEVERAL != 0))
        if which is not True:
            other &= which[:, None]
        if not other.any():
            return None
        near = other & (differ >> _UNIT == 0)
        wrong = other & ~near & is_data if self.between else np.zeros_like(other)
        if self.order and wrong.any():
            wrong[wrong] = self._unreleased(before[wrong], np.repeat(lanes, wrong.sum(axis=1)))
        near &= (before | codes) & _COPY == 0
        if self.within and near.any():
            clocks, lanes, before = machine.clocks, np.repeat(lanes, near.sum(axis=1)), before[near]
            earlier = before >> _LANE & (1 << _UNIT - _LANE) - 1
            together = earlier // 32 == lanes // 32
            synced = np.maximum(clocks.synced, clocks.exchanged) if were_reads else clocks.synced
            known = np.where(together, synced[lanes], clocks.known[lanes, clocks.own[earlier]])
            late = (before & _CLOCK) > known
            if self.order and late.any():
                late[late] = self._unreleased(before[late], lanes[late])
            wrong[near] = late
        return wrong if wrong.any() else None

    def _unreleased(self, before, lanes):
        if self.order.gives_up:
            return False
        places = (before >> _LANE & (1 << _UNIT - _LANE) - 1) % self.order.lanes
        return ~self.order.is_after(lanes, before >> _UNIT, places, before & _CLOCK, before & _SEVERAL != 0)

    def _note(self, record, granules, before, codes, wrong):
        if record.levels is None:
            record.levels = decoys.new_levels(record.size)
        differ = (before ^ codes[:, None])[wrong]
        levels = np.where(differ >> _UNIT != 0, _UNIT, np.where(differ >> _WARP != 0, _WARP, _LANE))
        np.minimum.at(record.levels, granules[wrong], levels)

    def _report(self, machine, buffer, offsets, lanes, wrong, before, verb, other):
        from .access import describe

        first, granule = (int(found[0]) for found in np.nonzero(wrong))
        lane, code = int(lanes[first]), int(before[first, granule])
        place = describe(buffer, offsets[first])
        why = f"; {NO_RELEASE if self.order else NO_ORDER}" if self.order or self.counts else ""
        message = f"{verb} {place}, which another CTA {other}s in the same launch{why}"
        if code >> _UNIT == machine.unit[lane]:
            cta, thread = machine.identity(code >> _LANE & (1 << _UNIT - _LANE) - 1)
            who = f"thread {thread} of CTA {cta}" if not code & _SEVERAL else "other threads of its warp"
            message = f"{verb} {place} without being ordered after the {other} by {who}"
        address = buffer.base + int(offsets[first])
        machine.find("race", message, lane, address, int(wrong.any(axis=1).sum()))
