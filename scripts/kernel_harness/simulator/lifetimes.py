"""What must be ordered beyond the data itself: CTAs of a cluster that have not started or have exited, mbarriers that
are used before their initialisation is visible, and memory that an earlier kernel of the stream still writes.

Sources: CUDA C++ Programming Guide, "Distributed Shared Memory" (all CTAs must run when their memory is touched) and
"Programmatic Dependent Launch"; PTX ISA, "mbarrier.init", "fence.mbarrier_init", "griddepcontrol". All of it is decided
by the happens-before relation of races.py, so it does not depend on who happened to run first here.
"""

import numpy as np

_DSMEM = "CUDA C++ Programming Guide, Distributed Shared Memory"


class Lifetimes:
    def __init__(self, machine):
        self.machine, self.clocks = machine, machine.clocks
        self.several = machine.cluster_size > 1
        shape = (machine.slots, self.clocks.columns)
        self.touched = np.zeros(shape, dtype=np.int32)  # newest access to a CTA's memory from outside, per agent
        self.known_at_exit = np.zeros(shape, dtype=np.int32)  # what any of its threads knew when it exited
        self.places = {}  # (slot, column) -> (lane, index of the instruction) of that access

    def access(self, lanes, offsets):
        """Lanes touch shared memory at these offsets of the shared buffer."""
        if self.several:
            slots = offsets // self.machine.shared.stride
            remote = np.flatnonzero(slots != self.machine.slot_of[lanes])
            if len(remote):
                lanes, slots = lanes[remote], slots[remote]
                columns = self.clocks.own[lanes]
                self._record(lanes, slots, columns, self.clocks.known[lanes, columns])

    def asynchronous(self, lane, offset, column, clock):
        """A copy issued by `lane` writes there, at `clock` of the agent `column`."""
        slot = int(offset) // self.machine.shared.stride
        if self.several and slot != self.machine.slot_of[lane]:
            rank = self.machine.shared_rank[slot * self.machine.lanes_per_cta]
            if self.clocks.known[lane, self.clocks.start_column(rank)] == 0:
                self._not_started(lane)
            self.touched[slot, column] = max(self.touched[slot, column], clock)
            self.places[slot, column] = int(lane), self.machine.current

    def _record(self, lanes, slots, columns, clocks):
        machine = self.machine
        started = self.clocks.known[lanes, self.clocks.start_column(machine.shared_rank[slots * machine.lanes_per_cta])]
        if (started == 0).any():
            self._not_started(int(lanes[np.flatnonzero(started == 0)[0]]))
        np.maximum.at(self.touched, (slots, columns), clocks)
        for index in np.unique(np.stack([slots, columns]), axis=1, return_index=True)[1]:
            self.places[int(slots[index]), int(columns[index])] = int(lanes[index]), machine.current

    def _not_started(self, lane):
        message = f"touches the memory of another CTA, which may not have started: no cluster barrier yet ({_DSMEM})"
        self.machine.find("cluster-lifetime", message, int(lane))

    def exited(self, lanes):
        if self.several:
            np.maximum.at(self.known_at_exit, self.machine.slot_of[lanes.index], self.clocks.known[lanes.index])

    def check_end(self):
        """All threads have exited: did each CTA stay for all who touched its memory?"""
        for slot, column in np.argwhere(self.touched > self.known_at_exit):
            lane, pc = self.places[int(slot), int(column)]
            owner = self.machine.identity(int(slot) * self.machine.lanes_per_cta)[0]
            message = (
                f"touches the shared memory of CTA {owner}, which may have exited: none of its threads waits for this "
                f"access before the end ({_DSMEM})"
            )
            self.machine.find("cluster-lifetime", message, lane, pc=pc)

    def initialised(self, barrier, lanes):
        """Lanes use an mbarrier: is its initialisation ordered before that?"""
        late = self.clocks.known[lanes, barrier.init_column] < barrier.init_clock
        if late.any():
            message = (
                "uses an mbarrier whose initialisation is not ordered before: a barrier is missing, or "
                "fence.mbarrier_init before a relaxed cluster barrier (PTX ISA, mbarrier.init)"
            )
            self.machine.find("race", message, int(lanes[np.flatnonzero(late)[0]]), count=int(late.sum()))

    def dependent(self, buffer, lanes, offsets, nbytes, verb):
        """Lanes touch global memory: may an earlier kernel, which griddepcontrol.wait waits for, still write it?"""
        if buffer.pending is None:
            return
        early = self.clocks.known[lanes, self.clocks.grid_column] == 0
        if not early.any():
            return
        early &= buffer.pending[np.reshape(offsets, (-1, 1)) + np.arange(nbytes)].any(axis=1)
        if early.any():
            from .access import describe

            first = int(np.flatnonzero(early)[0])
            message = (
                f"{verb} {describe(buffer, np.reshape(offsets, -1)[first])}, which the kernel before it in the stream "
                "writes, without griddepcontrol.wait (CUDA C++ Programming Guide, Programmatic Dependent Launch)"
            )
            self.machine.find("early-dependent", message, int(np.reshape(lanes, -1)[first]), count=int(early.sum()))
