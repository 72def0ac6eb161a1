"""The state of barriers, cluster barriers and mbarriers: who waits for whom, and what a deadlock looks like."""

import numpy as np

from .legality import MAX_TRANSACTION_BYTES
from .operands import EXITED, PARKED, WAITING


class MBarrier:
    """PTX ISA, "Parallel Synchronization and Communication: mbarrier": phase, pending arrivals, pending bytes."""

    def __init__(self, count, clocks, column, initialised=None):
        self.expected = self.pending = count
        self.bytes, self.phase, self.column = 0, 0, column
        # Where races.py counts its initialisation, and how far; 0 where nobody initialised it.
        self.init_column, self.init_clock = initialised or (clocks.first_start, 0)
        self.last_bytes = None  # (lane, instruction) that delivered bytes last
        self.clocks = clocks
        self.arriving, self.completed = clocks.empty(), clocks.empty()


class NamedBarrier:
    """One of the 16 barriers of a CTA: `expected` threads, or all of them when it is 0."""

    def __init__(self, lanes, clocks):
        self.arrived, self.waiting = np.zeros(lanes, dtype=bool), np.zeros(lanes, dtype=bool)
        self.extra = self.expected = 0
        self.vector, self.reduce = clocks.empty(), None


class Barriers:
    def __init__(self, machine):
        self.machine, self.clocks = machine, machine.clocks
        self.named = {}  # (slot, id) -> NamedBarrier
        self.mbarriers = {}  # offset in the shared buffer -> MBarrier
        self.waiting = []  # (lanes mask, mbarrier, phase, offset, pc, result store)
        clusters = machine.slots // machine.cluster_size
        self.cluster_arrived = np.zeros(machine.count, dtype=bool)
        self.cluster_waiting = np.zeros(machine.count, dtype=bool)
        self.cluster_phase = np.zeros(clusters, dtype=np.int64)
        self.lane_phase = np.full(machine.count, -1, dtype=np.int64)  # cluster phase at which the lane arrived
        self.cluster_of = machine.slot_of // machine.cluster_size
        self.cluster_vectors = [[self.clocks.empty(), self.clocks.empty()] for _ in range(clusters)]
        self.progress, self.idle_rounds, self.seen_progress = 0, 0, -1

    # CTA barriers ----------------------------------------------------------------------------------------------

    def arrive(self, lanes, identifiers, counts, waits, reduce=None):
        """bar/barrier arrive (waits=False) or sync; `reduce(mask)` stores the result of bar.red when it completes."""
        machine = self.machine
        blocked = False
        for slot in np.unique(machine.slot_of[lanes.index]):
            mine = lanes.mask & (machine.slot_of == slot)
            for identifier in np.unique(identifiers[mine]):
                here = mine & (identifiers == identifier)
                count = int(counts[np.flatnonzero(here)[0]]) if counts is not None else 0
                blocked |= self._arrive_one((int(slot), int(identifier)), here, count, waits, reduce)
        return blocked

    def _arrive_one(self, key, here, count, waits, reduce):
        machine = self.machine
        self._check_operands(key[1], here, count)
        barrier = self.named.get(key) or self.named.setdefault(key, NamedBarrier(machine.count, self.clocks))
        index = np.flatnonzero(here)
        if barrier.expected and count != barrier.expected and barrier.arrived.any():
            machine.find(
                "barrier-misuse",
                f"barrier {key[1]} is used with {count} threads while others use it with {barrier.expected}",
                int(index[0]),
            )
        again = barrier.arrived & here
        barrier.extra += int(again.sum())  # bar.arrive may come round again before the barrier completes
        barrier.expected = count
        barrier.arrived |= here
        self.clocks.release(index, barrier.vector)
        barrier.reduce = reduce
        if waits:
            barrier.waiting |= here
            machine.wait(SomeLanes(here))
        self._complete(key)
        return waits

    def _check_operands(self, identifier, here, count):
        problem = ""
        if identifier > 15:
            problem = f"barrier {identifier}: a CTA has the barriers 0 to 15"
        elif count % 32 or count > self.machine.lanes_per_cta:
            most = self.machine.lanes_per_cta
            problem = f"barrier {identifier} for {count} threads: multiples of 32 up to the CTA's {most}"
        if problem:
            lane = int(np.flatnonzero(here)[0])
            self.machine.find("illegal-operand", f"{problem} (PTX ISA, bar, barrier)", lane)

    def _complete(self, key):
        machine, barrier = self.machine, self.named[key]
        alive = (machine.slot_of == key[0]) & (machine.state != EXITED)
        arrived = int(barrier.arrived.sum()) + barrier.extra
        if barrier.expected:
            if arrived < barrier.expected:
                return
            if arrived > barrier.expected:
                machine.find(
                    "barrier-misuse",
                    f"{arrived} threads arrived at barrier {key[1]}, which is for {barrier.expected}",
                )
        elif (alive & ~barrier.arrived).any() or not barrier.arrived.any():
            return
        waiting = np.flatnonzero(barrier.waiting)
        self.clocks.acquire(waiting, barrier.vector)
        if barrier.reduce:
            barrier.reduce(barrier.arrived.copy(), barrier.waiting.copy())
        machine.wake(barrier.waiting)
        self.progress += 1
        del self.named[key]

    def lanes_exited(self, lanes):
        for key in [k for k, b in self.named.items() if not b.expected]:
            self._complete(key)
        if self.cluster_arrived.any():
            for cluster in np.unique(self.cluster_of[lanes.index]):
                self._complete_cluster(int(cluster))

    # Cluster barrier -------------------------------------------------------------------------------------------

    def cluster_arrive(self, lanes, release):
        for cluster in np.unique(self.cluster_of[lanes.index]):
            here = lanes.mask & (self.cluster_of == cluster)
            index = np.flatnonzero(here)
            if (self.cluster_arrived & here).any():
                self.machine.find(
                    "barrier-misuse",
                    "a thread arrives twice at the cluster barrier without waiting in between",
                    int(index[0]),
                )
            self.cluster_arrived |= here
            self.lane_phase[here] = self.cluster_phase[cluster]
            order = self.clocks.release if release else self.clocks.release_start
            order(index, self.cluster_vectors[cluster][0])
            self._complete_cluster(int(cluster))

    def _complete_cluster(self, cluster):
        machine = self.machine
        alive = (self.cluster_of == cluster) & (machine.state != EXITED)
        if (alive & ~self.cluster_arrived).any() or not (self.cluster_arrived & (self.cluster_of == cluster)).any():
            return
        self.cluster_phase[cluster] += 1
        self.cluster_arrived &= self.cluster_of != cluster
        vectors = self.cluster_vectors[cluster]
        vectors[1], vectors[0] = vectors[0], self.clocks.empty()
        waiting = alive & (machine.state == WAITING) & self.cluster_waiting
        if waiting.any():
            self.clocks.acquire(np.flatnonzero(waiting), vectors[1])
            self.cluster_waiting &= ~waiting
            machine.wake(waiting)
        self.progress += 1

    def cluster_wait(self, lanes):
        machine = self.machine
        if (self.lane_phase[lanes.mask] < 0).any():
            machine.find(
                "barrier-misuse", "a thread waits at the cluster barrier without having arrived", int(lanes.index[0])
            )
        done = self.cluster_phase[self.cluster_of] > self.lane_phase
        passed = lanes.mask & done
        for cluster in np.unique(self.cluster_of[passed]):
            self.clocks.acquire(np.flatnonzero(passed & (self.cluster_of == cluster)), self.cluster_vectors[cluster][1])
        rest = lanes.where(~done)
        if not rest:
            return None
        machine.pc[lanes.mask] = machine.current + 1
        self.cluster_waiting |= rest.mask
        return machine.wait(rest)

    # mbarriers -------------------------------------------------------------------------------------------------

    def get(self, offset, lanes):
        """The mbarrier at this offset of the shared buffer, for `lanes` that use it."""
        barrier, lane = self.mbarriers.get(offset), int(lanes[0])
        if barrier is not None:
            self.machine.lifetimes.initialised(barrier, lanes)
        else:
            relative = offset % self.machine.shared.stride
            self.machine.find(
                "barrier-misuse",
                f"uses an mbarrier at shared memory offset {relative} that was never initialised",
                lane,
            )
            barrier = self.mbarriers[offset] = MBarrier(1, self.clocks, self.clocks.mbarrier_column(offset))
        return barrier

    def initialise(self, offset, count, lane):
        if count < 1 or count >= 1 << 20:
            self.machine.find("barrier-misuse", f"initialises an mbarrier with the count {count}", lane)
        if offset in self.mbarriers:
            message = "initialises an mbarrier that is in use; mbarrier.inval must come before (PTX ISA, mbarrier.init)"
            self.machine.find("barrier-misuse", message, lane)
        column = self.clocks.mbarrier_column(offset)
        self.mbarriers[offset] = MBarrier(count, self.clocks, column, self.clocks.initialise(lane))

    def overwritten(self, offsets, nbytes):
        if not self.mbarriers or not len(offsets):
            return
        places, written = np.array(list(self.mbarriers)), np.sort(offsets)
        nearest = written[np.minimum(np.searchsorted(written, places - nbytes, side="right"), len(written) - 1)]
        for offset in places[(nearest < places + 8) & (nearest + nbytes > places)].tolist():
            self.machine.find(
                "barrier-misuse",
                f"overwrites the mbarrier at shared memory offset {offset % self.machine.shared.stride}",
            )
            del self.mbarriers[offset]

    def count_down(self, barrier, lane, arrivals=0, nbytes=0, expect=0):
        """Arrivals and transaction bytes; `expect` adds bytes to wait for, `nbytes` have come."""
        self.progress += 1
        self.machine.polls = 0
        barrier.bytes += expect - nbytes
        if abs(barrier.bytes) > MAX_TRANSACTION_BYTES:
            message = (
                f"an mbarrier counts {barrier.bytes} bytes; it can count {MAX_TRANSACTION_BYTES} (PTX ISA, mbarrier)"
            )
            self.machine.find("illegal-operand", message, lane)
        barrier.last_bytes = (lane, self.machine.current) if nbytes else barrier.last_bytes
        if arrivals > barrier.pending:
            self.machine.find(
                "barrier-misuse",
                f"{arrivals} arrivals at an mbarrier that waits for {barrier.pending} more in this phase",
                lane,
            )
            arrivals = barrier.pending
        barrier.pending -= arrivals
        if barrier.pending == 0 and barrier.bytes == 0:
            barrier.phase += 1
            barrier.pending = barrier.expected
            barrier.completed, barrier.arriving = np.maximum(barrier.completed, barrier.arriving), self.clocks.empty()
            for entry in [w for w in self.waiting if w[1] is barrier and barrier.phase > w[2]]:
                self._finish(entry, True)

    def _finish(self, entry, value):
        mask, barrier, _, _, _, store = entry
        self.waiting = [w for w in self.waiting if w is not entry]
        lanes = SomeLanes(mask)
        if value:
            self.clocks.acquire(np.flatnonzero(mask), barrier.completed)
        store(np.bool_(value), lanes)
        self.machine.wake(mask)

    def time_out(self):
        """Nobody can run: lets suspended try_waits return false, as the hardware does after a while.

        Returns False when that has been of no use: the waiting threads will wait for ever.
        """
        if self.progress != self.seen_progress:
            self.seen_progress, self.idle_rounds = self.progress, 0
        self.idle_rounds += 1
        if not self.waiting or self.idle_rounds > 3:
            return False
        for entry in list(self.waiting):
            self._finish(entry, False)
        return True

    def check_end(self):
        """All threads have exited: bytes that nobody expected would have upset a later phase."""
        for barrier in self.mbarriers.values():
            if barrier.bytes < 0 and barrier.last_bytes:
                lane, pc = barrier.last_bytes
                self.machine.find(
                    "barrier-misuse",
                    f"copies delivered {-barrier.bytes} bytes more to an mbarrier than expect_tx announced",
                    lane,
                    None,
                    1,
                    pc,
                )

    # Deadlock --------------------------------------------------------------------------------------------------

    def report_deadlock(self):
        machine = self.machine
        stride = machine.shared.stride
        machine.register_pool.report_deadlock()
        machine.tensor_memory.report_deadlock()
        for mask, barrier, phase, offset, pc, _ in self.waiting:
            lane = int(np.flatnonzero(mask)[0])
            message = (
                f"{int(mask.sum())} threads wait for phase {phase} of the mbarrier at shared memory offset "
                f"{offset % stride} for ever: {barrier.pending} of {barrier.expected} arrivals and {barrier.bytes} "
                f"bytes are missing in phase {barrier.phase}"
            )
            machine.find("deadlock", message, lane, pc=pc)
        for (_, identifier), barrier in self.named.items():
            if barrier.waiting.any():
                lane = int(np.flatnonzero(barrier.waiting)[0])
                arrived = int(barrier.arrived.sum())
                expected = barrier.expected or int(
                    ((machine.slot_of == machine.slot_of[lane]) & (machine.state != EXITED)).sum()
                )
                message = (
                    f"{arrived} threads are at barrier {identifier}, which waits for {expected}; no more will come"
                )
                machine.find("deadlock", message, lane, pc=int(machine.pc[lane]) - 1)
        for cluster in np.unique(self.cluster_of[self.cluster_waiting]):
            alive = (self.cluster_of == cluster) & (machine.state != EXITED)
            lane = int(np.flatnonzero(self.cluster_waiting & alive)[0])
            arrived, phase = int((alive & self.cluster_arrived).sum()), int(self.cluster_phase[cluster])
            message = (
                "the cluster barrier waits for threads that will not come: "
                f"{arrived} of {int(alive.sum())} have arrived in phase {phase}"
            )
            machine.find("deadlock", message, lane, pc=int(machine.pc[lane]) - 1)
        parked = machine.state == PARKED
        if parked.any():
            lane = int(np.flatnonzero(parked)[0])
            machine.find(
                "deadlock",
                "a warp-wide instruction waits for lanes of its warp that will not come",
                lane,
                None,
                1,
                int(machine.pc[lane]),
            )
        machine.trapped = True


class SomeLanes:
    """Lanes of a mask that is not full; stands in for operands.Lanes."""

    __slots__ = ("full", "index", "mask")

    def __init__(self, mask):
        self.mask, self.full, self.index = mask, False, np.flatnonzero(mask)
