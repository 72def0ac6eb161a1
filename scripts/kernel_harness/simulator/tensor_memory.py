"""Tensor memory of sm_100: per CTA 128 lanes of 512 columns of 32 bits, who allocated them, who may touch them when.

PTX ISA, "Tensor Memory" and "Memory Consistency Model for 5th generation of TensorCore operations". The agents are
those of races.py: a warp, whose tcgen05.ld and tcgen05.st are done when it has waited for them, and the tensor core,
whose operations are in order for one issuing warp, and done for those who waited for the mbarrier of a commit.
"""

from dataclasses import dataclass

import numpy as np

from .barriers import SomeLanes

LANES, COLUMNS, UNIT = 128, 512, 32
_HALF = 16  # lanes that the record of accesses keeps together: the smallest part that an instruction touches
PENDING = 1 << 30  # clock of a tcgen05.ld or tcgen05.st that nobody has waited for
_ALLOC = "PTX ISA, tcgen05.alloc"


@dataclass(frozen=True, eq=False)
class Area:
    """Lanes and columns (index arrays) of the tensor memory of the CTA in `slot`."""

    slot: int
    lanes: np.ndarray
    columns: np.ndarray

    @property
    def cells(self):
        return self.slot, self.lanes[:, None], self.columns[None]

    @property
    def record(self):
        return self.slot, np.unique(self.lanes // _HALF)[:, None], self.columns[None]


@dataclass
class Request:
    """A warp at tcgen05.alloc, .dealloc or .relinquish_alloc_permit."""

    action: str
    slot: int
    lanes: np.ndarray
    pc: int
    columns: int = 0
    address: int = 0  # dealloc: of the tensor memory
    result: object = None  # alloc: store(address) in shared memory
    done: bool = False


class TensorMemory:
    def __init__(self, machine):
        self.machine, self.clocks = machine, machine.clocks
        self.allocations = {}  # (slot, first column) -> (columns, lane, index of the alloc)
        self.relinquished = set()  # slots
        self.group = None  # cta_group of the kernel
        self.meeting, self.blocked = {}, []  # requests that wait for the peer CTA, and for free columns
        self.stored = {}  # warp -> areas of its tcgen05.st that it has not waited for
        self.loading = {}  # warp -> (registers that hold what comes, area) of its tcgen05.ld, likewise
        self.issued = {}  # lane -> clock of its newest tensor-core operation
        self.data = None

    def _allocate_arrays(self):
        slots, halves = self.machine.slots, LANES // _HALF
        self.data = np.zeros((slots, LANES, COLUMNS), dtype=np.uint32)
        self.written = np.zeros((slots, LANES, COLUMNS), dtype=bool)
        self.owner = np.full((slots, COLUMNS), -1)
        self.writer_column = np.zeros((slots, halves, COLUMNS), dtype=np.int16)
        self.writer_clock = np.zeros((slots, halves, COLUMNS), dtype=np.int32)
        self.reader_clock = np.zeros((slots, halves, COLUMNS, 3 * self.clocks.warps), dtype=np.int32)

    def use_group(self, group, lane):
        self.group = self.group or group
        if group != self.group:
            message = "a kernel uses both cta_group::1 and cta_group::2; all its tcgen05 instructions must agree"
            self.machine.find("illegal-operand", f"{message} ({_ALLOC})", lane)

    # Allocation ------------------------------------------------------------------------------------------------

    def manage(self, request, group):
        """Performs a request, or keeps it until the peer CTA has come, or columns are free."""
        self.use_group(group, int(request.lanes[0]))
        if self.data is None:
            self._allocate_arrays()
        partners = self.meeting.get((request.slot ^ 1, request.action))
        if group == 1:
            self._perform([request])
        elif partners:
            self._perform([partners.pop(0), request])
        else:
            self.meeting.setdefault((request.slot, request.action), []).append(request)

    def _perform(self, requests):
        action = requests[-1].action
        if action == "alloc" and not self._allocate(requests):
            self.blocked.append(requests)
            return
        for request in requests:
            if action == "dealloc":
                self._free(request)
            elif action == "relinquish_alloc_permit":
                self.relinquished.add(request.slot)
            self._wake(request)
        if action == "dealloc":
            waiting, self.blocked = self.blocked, []
            for group in waiting:
                self._perform(group)

    def _wake(self, request):
        request.done = True
        mask = np.zeros(self.machine.count, dtype=bool)
        mask[request.lanes] = True
        self.machine.wake(mask)
        self.machine.barriers.progress += 1

    def _allocate(self, requests):
        machine, columns = self.machine, requests[0].columns
        for request in requests:
            lane = int(request.lanes[0])
            if request.columns not in (32, 64, 128, 256, 512) or request.columns != columns:
                message = f"tcgen05.alloc of {request.columns} columns: a power of two within 32 and 512 ({_ALLOC})"
                machine.find("illegal-operand", message, lane, pc=request.pc)
                return True
            if request.slot in self.relinquished:
                message = f"tcgen05.alloc after tcgen05.relinquish_alloc_permit in this CTA ({_ALLOC})"
                machine.find("tensor-memory", message, lane, pc=request.pc)
        taken = (self.owner[[request.slot for request in requests]] >= 0).any(axis=0)
        free = [s for s in range(0, COLUMNS - columns + 1, UNIT) if not taken[s : s + columns].any()]
        if not free:
            return False
        for request in requests:
            area = np.s_[request.slot, :, free[0] : free[0] + columns]
            self.owner[request.slot, free[0] : free[0] + columns] = free[0]
            self.written[area], self.writer_clock[area], self.reader_clock[area] = False, 0, 0
            self.allocations[request.slot, free[0]] = columns, int(request.lanes[0]), request.pc
            request.result(free[0])
        return True

    def _free(self, request):
        key, lane = (request.slot, request.address), int(request.lanes[0])
        columns = self.allocations.get(key, (0,))[0]
        if columns != request.columns:
            held = f"an allocation of {columns} columns" if columns else "no allocation"
            message = f"tcgen05.dealloc of {request.columns} columns at 0x{request.address:x}, where {held} starts"
            self.machine.find("tensor-memory", f"{message} ({_ALLOC})", lane, pc=request.pc)
            if not columns:
                return
        area = Area(request.slot, np.arange(LANES), request.address + np.arange(columns))
        self._check_write(area, lane, self.clocks.known[request.lanes].max(axis=0), -1, "frees", request.pc)
        self.owner[request.slot, area.columns] = -1
        del self.allocations[key]

    # Accesses --------------------------------------------------------------------------------------------------

    def inside(self, area, lane, verb):
        """Are all columns of the area allocated? Reports it where not."""
        columns, slot = area.columns, area.slot
        past = columns[(columns >= COLUMNS) | (columns < 0)]
        free = past if len(past) or self.data is None else columns[self.owner[slot, columns] < 0]
        if self.data is not None and not len(free):
            return True
        message = f"{verb} column {int((free if len(free) else columns)[0])} of tensor memory, which is not allocated"
        self.machine.find("out-of-bounds", message, lane, count=max(len(free), 1))
        return False

    def read(self, area, lane, known, column, clock, verb):
        """Records a read; `column` is its agent. Returns the data, and which cells nobody wrote."""
        own = column if clock != PENDING else -1
        writer, written = self.writer_column[area.record], self.writer_clock[area.record]
        late = (written > known[writer]) & (writer != own)
        if late.any():
            self._report_unfinished(lane, int(writer[late][0]), int(written[late][0]), verb)
        self.reader_clock[(*area.record, column)] = clock
        return self.data[area.cells], ~self.written[area.cells]

    def _report_unfinished(self, lane, writer, clock, verb):
        if writer >= self.clocks.warps:
            message = "which the tensor core may still be writing: nobody waited for the mbarrier of a later commit"
            self.machine.find("accumulator-read-before-wait", f"{verb} tensor memory {message} (tcgen05.commit)", lane)
            return
        missing = "tcgen05.wait::st did not come" if clock == PENDING else "it is not ordered"
        self.machine.find("race", f"{verb} tensor memory that a warp stored, and {missing} before", lane)

    def write(self, area, lane, known, column, clock, verb, values, keep=None):
        """Records a write and stores `values`; `keep`: lanes of the area that do not change."""
        self._check_write(area, lane, known, column if clock != PENDING else -1, verb)
        self.writer_column[area.record], self.writer_clock[area.record] = column, clock
        self.reader_clock[area.record] = 0
        if keep is not None:
            area, values = Area(area.slot, area.lanes[~keep], area.columns), values[~keep]
        self.data[area.cells], self.written[area.cells] = values, True

    def _check_write(self, area, lane, known, own, verb, pc=None):
        writer, written = self.writer_column[area.record], self.writer_clock[area.record]
        late = (written > known[writer]) & (writer != own)
        if late.any():
            who = "the tensor core" if int(writer[late][0]) >= self.clocks.warps else "another warp"
            self.machine.find("race", f"{verb} tensor memory that {who} may still be writing", lane, pc=pc)
        readers = self.reader_clock[area.record]
        late = readers > known[: readers.shape[-1]]
        if own >= 0:
            late[..., own] = False
        if late.any():
            reading = np.flatnonzero(late.any(axis=(0, 1)))[0]
            who = "the tensor core" if reading >= self.clocks.warps else "a warp"
            missing = "; tcgen05.wait::ld did not come before" if readers[late].max() == PENDING else ""
            self.machine.find("race", f"{verb} tensor memory that {who} may still be reading{missing}", lane, pc=pc)

    def wait_loads(self, warp):
        for _, area in self.loading.pop(warp, ()):
            self._loaded(warp, area)

    def _now(self, warp):
        """(column, clock) of a warp; a release by any of its lanes covers what happened at that clock."""
        lanes, column = np.s_[32 * warp : 32 * warp + 32], int(self.clocks.own[32 * warp])
        clock = self.clocks.known[lanes, column].max()
        self.clocks.known[lanes, column] = clock
        return column, clock

    def _loaded(self, warp, area):
        column, clock = self._now(warp)
        readers = self.reader_clock[(*area.record, column)]
        self.reader_clock[(*area.record, column)] = np.where(readers == PENDING, clock, readers)

    def wait_stores(self, warp):
        column, clock = self._now(warp)
        for area in self.stored.pop(warp, ()):
            mine = (self.writer_column[area.record] == column) & (self.writer_clock[area.record] == PENDING)
            self.writer_clock[area.record] = np.where(mine, clock, self.writer_clock[area.record])

    def follow(self, pc, lanes):
        """`lanes` are about to execute an instruction while loads are under way: who uses a value has it.

        PTX ISA, "Register dependencies, same thread". A mov only gives the value another name.
        """
        used = self.machine.program.registers_of(pc)
        for warp in set(self.loading).intersection(np.unique(lanes.index // 32).tolist()):
            touched = [entry for entry in self.loading[warp] if not entry[0].isdisjoint(used)]
            for entry in touched:
                if self.machine.instructions[pc].opcode == "mov":
                    entry[0].update(used)
                else:
                    self.loading[warp].remove(entry)
                    self._loaded(warp, entry[1])
            if not self.loading[warp]:
                del self.loading[warp]

    # The end ---------------------------------------------------------------------------------------------------

    def check_end(self):
        for columns, lane, pc in self.allocations.values():
            message = f"{columns} columns of tensor memory are not freed when the CTA exits ({_ALLOC})"
            self.machine.find("tensor-memory", message, lane, pc=pc)

    def report_deadlock(self):
        for request in (first for requests in self.meeting.values() for first in requests[:1]):
            message = f"tcgen05.{request.action} waits for ever for the peer CTA to execute it too ({_ALLOC})"
            self.machine.find("deadlock", message, int(request.lanes[0]), pc=request.pc)
        for requests in self.blocked:
            message = f"tcgen05.alloc waits for ever for {requests[0].columns} free columns ({_ALLOC})"
            self.machine.find("deadlock", message, int(requests[0].lanes[0]), pc=requests[0].pc)


def single_thread(machine, lanes, what):
    """The lanes that execute an instruction of single threads; a whole warp that does is reported, and does it once."""
    for warp in np.unique(lanes.index // 32):
        mine = lanes.index[lanes.index // 32 == warp]
        if len(mine) > 1:
            message = f"{len(mine)} lanes of a warp issue the same {what}; elect one of them"
            machine.find("missing-election", message, int(mine[0]))
        yield int(mine[0])


def blocked_lanes(machine, lanes, blocked):
    """Ends a step of which lanes `blocked` wait: all the others go on."""
    if not len(blocked):
        return None
    machine.pc[lanes.mask] = machine.current + 1
    mask = np.zeros(machine.count, dtype=bool)
    mask[blocked] = True
    return machine.wait(SomeLanes(mask))


