"""Data races on shared memory, by happens-before with vector clocks.

Every lane knows, for each agent (a column), how far into that agent's work it has synchronised. Agents are the warps of
the cluster, and the asynchronous units: bulk stores, the tensor cores (both one column per issuing warp) and bulk loads
(one column per mbarrier). An access is ordered after another if the lane's knowledge of the other's column has reached
the clock at which it happened; lanes of one warp are ordered only by synchronisation that involves both. Barriers,
mbarriers and warp barriers hand knowledge from the releasing to the acquiring lanes.

What this finds depends on the accesses of this run, not on their timing. What it cannot tell: two asynchronous
operations on one mbarrier are one agent.
"""

import numpy as np

from . import memory as mem

_MBARRIERS = 64  # columns for mbarriers; more of them share columns


class Clocks:
    def __init__(self, machine, granule, units=0):
        """units: columns for what is known of the units of the launch (global_order.py)."""
        self.machine, self.granule = machine, granule
        warps = self.warps = machine.warps_per_cluster
        # After the agents: per CTA of the cluster whether it has started (1) and its newest mbarrier.init (above);
        # whether griddepcontrol.wait was passed; one that is never known: cp.async in flight; and the units.
        self.first_start = 3 * warps + _MBARRIERS
        self.grid_column = self.first_start + machine.cluster_size
        self.never_column, self.first_unit = self.grid_column + 1, self.grid_column + 2
        self.columns = self.first_unit + units
        self.own = machine.warp_of
        lanes = np.arange(machine.count)
        self.known = np.zeros((machine.count, self.columns), dtype=np.int32)
        self.known[lanes, self.own] = 1
        self.known[lanes, self.start_column(machine.shared_rank)] = 1
        self.inits, self.fenced_inits = 1, np.ones(machine.slots, dtype=np.int32)
        self.synced = np.zeros(machine.count, dtype=np.int32)  # own warp's clock that all its lanes have reached
        self.exchanged = np.zeros(machine.count, dtype=np.int32)  # the same of their reads alone
        self.fenced = np.full(machine.count, -1, dtype=np.int64)  # time of the lane's last generic-to-async proxy fence
        self.time = 0
        size = len(machine.shared.buffer) // granule + 1
        self.writer = np.full(size, -1, dtype=np.int32)  # lane, or the issuing lane of an asynchronous write
        self.writer_column = np.zeros(size, dtype=np.int16)
        self.writer_clock = np.zeros(size, dtype=np.int32)
        self.writer_time = np.zeros(size, dtype=np.int64)
        self.writer_atomic = np.zeros(size, dtype=bool)
        self.reader = np.full(size, -1, dtype=np.int32)  # last reading lane, -2 if several lanes of one warp read
        self.reader_clock = np.zeros((size, 3 * warps), dtype=np.int32)
        self.was_read = np.zeros(size, dtype=bool)  # since the last write: only there are the two above of any use
        self.async_clock = np.zeros(self.columns, dtype=np.int32)
        self._mbarrier_columns = {}

    # Columns ---------------------------------------------------------------------------------------------------

    def bulk_store_column(self, warp):
        return self.warps + warp

    def tensor_core_column(self, warp):
        return 2 * self.warps + warp

    def mbarrier_column(self, key):
        used = self._mbarrier_columns
        return used.setdefault(key, 3 * self.warps + len(used) % _MBARRIERS)

    def start_column(self, rank):
        """Of the CTAs `rank` of a cluster."""
        return self.first_start + rank

    def tick(self, column):
        """A new operation of an asynchronous agent; returns its clock."""
        self.async_clock[column] += 1
        return int(self.async_clock[column])

    # Synchronisation -------------------------------------------------------------------------------------------

    def empty(self):
        return np.zeros(self.columns, dtype=np.int32)

    def release(self, index, into):
        """Adds the knowledge of lanes `index` to the vector `into` and starts their next interval."""
        np.maximum(into, self.known[index].max(axis=0), out=into)
        self.known[index, self.own[index]] += 1

    def acquire(self, index, vector):
        self.known[index] = np.maximum(self.known[index], vector)
        self.synced[index] = np.maximum(self.synced[index], vector[self.own[index]])

    def release_start(self, index, into):
        """A relaxed arrival: it says that the CTAs run, and what fence.mbarrier_init covered, and nothing of memory."""
        columns = slice(self.first_start, self.grid_column)
        known = self.known[index, columns].copy()
        slots, own = self.machine.slot_of[index], self.machine.shared_rank[index]
        rows = np.arange(len(index))
        known[rows, own] = np.minimum(known[rows, own], self.fenced_inits[slots])
        np.maximum(into[columns], known.max(axis=0), out=into[columns])

    def initialise(self, lane):
        """`lane` initialises an mbarrier: the (column, clock) that others must know before they use it."""
        self.inits += 1
        column = self.start_column(int(self.machine.shared_rank[lane]))
        self.known[lane, column] = self.inits
        return column, self.inits

    def fence_inits(self, index):
        known = self.known[index, self.start_column(self.machine.shared_rank[index])]
        np.maximum.at(self.fenced_inits, self.machine.slot_of[index], known)

    def warp_barrier(self, index):
        """Orders the lanes of each warp among themselves."""
        for warp in np.unique(index // 32):
            lanes = index[index // 32 == warp]
            vector = self.empty()
            self.release(lanes, vector)
            self.acquire(lanes, vector)

    def end_reads(self, index):
        """Whole warps exchange what they read: their lanes may overwrite it."""
        clocks = self.known[index, self.own[index]].reshape(-1, 32).max(axis=1).repeat(32)
        self.exchanged[index], self.known[index, self.own[index]] = clocks, clocks + 1

    def proxy_fence(self, index):
        self.time += 1
        self.fenced[index] = self.time

    # Accesses --------------------------------------------------------------------------------------------------

    def _granules(self, lanes, offsets, nbytes):
        """(granule, lane) pairs, flattened."""
        if nbytes <= self.granule:
            return offsets // self.granule, lanes
        count = -(-nbytes // self.granule)
        granules = offsets[:, None] // self.granule + np.arange(count)
        return granules.ravel(), np.repeat(lanes, count)

    def _unordered_writer(self, granules, lanes, atomic):
        """Which accesses are not ordered after the last write; `lanes` is one lane, or one per granule."""
        column = self.writer_column[granules]
        clock = self.writer_clock[granules]
        writer = self.writer[granules]
        others = writer != lanes
        behind = clock > self.known[lanes, column]
        behind |= (column == self.own[lanes]) & others & (clock > self.synced[lanes])
        behind &= others | (column >= self.warps)
        behind &= writer >= 0
        if atomic:
            behind &= ~self.writer_atomic[granules]
        return behind

    def _report(self, granules, lanes, behind, this, that, other):
        first = int(np.flatnonzero(behind)[0])
        granule, lane = int(granules[first]), int(lanes[first] if np.ndim(lanes) else lanes)
        other_lane = int(other[first])
        who = (
            f"thread {self.machine.identity(other_lane)[1]} of CTA {self.machine.identity(other_lane)[0]}"
            if other_lane >= 0
            else "other threads"
        )
        offset = granule * self.granule % self.machine.shared.stride
        message = f"{this} shared memory offset {offset} without being ordered after the {that} by {who}"
        self.machine.find("race", message, lane, mem.SHARED_BASE + offset, int(behind.sum()))

    def read(self, lanes, offsets, nbytes, atomic=False):
        granules, lanes = self._granules(lanes, offsets, nbytes)
        behind = self._unordered_writer(granules, lanes, atomic)
        if behind.any():
            kind = "write" if self.writer_column[granules[behind][0]] < self.warps else "asynchronous write issued"
            self._report(granules, lanes, behind, "reads", kind, self.writer[granules])
        if atomic:
            return
        column = self.own[lanes]
        clock = self.known[lanes, column]
        several = (self.reader_clock[granules, column] == clock) & (self.reader[granules] != lanes)
        self.was_read[granules] = True
        self.reader_clock[granules, column] = clock
        self.reader[granules] = np.where(several, -2, lanes)
        lost = (self.reader[granules] != lanes) & (self.reader[granules] != -2)
        if lost.any():
            self.reader[granules[lost]] = -2

    def write(self, lanes, offsets, nbytes, atomic=False):
        self.time += 1
        granules, lanes = self._granules(lanes, offsets, nbytes)
        self._check_write(granules, lanes, atomic)
        self._record_write(granules, lanes, self.own[lanes], self.known[lanes, self.own[lanes]], atomic)

    def _check_write(self, granules, lanes, atomic):
        behind = self._unordered_writer(granules, lanes, atomic)
        if behind.any():
            kind = "write" if self.writer_column[granules[behind][0]] < self.warps else "asynchronous write issued"
            self._report(granules, lanes, behind, "writes", kind, self.writer[granules])
        if self.was_read[granules].any():
            reads = self.reader_clock[granules]
            late = reads > self.known[lanes, : 3 * self.warps]
            own = self.own[lanes]
            rows = np.arange(len(granules))
            late[rows, own] = (reads[rows, own] > self.synced[lanes]) & (self.reader[granules] != lanes)
            behind = late.any(axis=1)
            if behind.any():
                self._report(
                    granules,
                    lanes,
                    behind,
                    "writes",
                    "read",
                    np.where(self.reader[granules] == lanes, -1, self.reader[granules]),
                )

    def _record_write(self, granules, lanes, column, clock, atomic):
        self.writer[granules] = lanes
        self.writer_column[granules] = column
        self.writer_clock[granules] = clock
        self.writer_time[granules] = self.time
        self.writer_atomic[granules] = atomic
        read = granules[self.was_read[granules]]
        if len(read):
            self.reader_clock[read], self.reader[read], self.was_read[read] = 0, -1, False

    # cp.async --------------------------------------------------------------------------------------------------

    def pending_write(self, lanes, offsets, nbytes):
        """cp.async was issued: until `pending_done` nobody may touch the bytes, not even its own thread."""
        self.time += 1
        granules, lanes = self._granules(lanes, offsets, nbytes)
        self._check_write(granules, lanes, False)
        self._record_write(granules, lanes, self.never_column, 1, False)

    def pending_done(self, lanes, offsets, nbytes):
        granules, lanes = self._granules(lanes, offsets, nbytes)
        self.writer_column[granules] = self.own[lanes]
        self.writer_clock[granules] = 0

    # Asynchronous proxy ----------------------------------------------------------------------------------------

    def _span_granules(self, spans):
        """(offsets, bytes) of pieces of shared memory -> their granules, each once."""
        offsets, nbytes = np.asarray(spans[0]), spans[1]
        if np.ndim(nbytes) == 0:
            count = -(-nbytes // self.granule)
            if len(offsets) == 1:
                return offsets[0] // self.granule + np.arange(count)
            first = np.sort(offsets // self.granule)
            granules = (first[:, None] + np.arange(count)).ravel()
            return granules if (first[1:] - first[:-1] >= count).all() else np.unique(granules)
        return np.unique(
            np.concatenate(
                [
                    np.arange(o // self.granule, -(-(o + n) // self.granule))
                    for o, n in zip(offsets, nbytes, strict=True)
                ]
            )
        )

    def async_write(self, issuer, spans, column):
        """A bulk copy into shared memory, issued by lane `issuer`; spans = (offsets, bytes)."""
        self.time += 1
        granules = self._span_granules(spans)
        self._check_write(granules, issuer, False)
        self._record_write(granules, issuer, column, self.tick(column), False)
        first = np.reshape(np.asarray(spans[0]), -1)[0]
        self.machine.lifetimes.asynchronous(issuer, first, column, int(self.async_clock[column]))

    def async_read(self, issuer, spans, column, what):
        """A bulk store or WGMMA reads shared memory, issued by lane `issuer`. Returns the operation's clock."""
        granules = self._span_granules(spans)
        behind = self._unordered_writer(granules, issuer, False)
        if behind.any():
            self._report(granules, issuer, behind, f"{what} reads", "write", self.writer[granules])
        else:
            self._check_fence(granules, issuer, what)
        clock = self.tick(column)
        self.was_read[granules] = True
        self.reader_clock[granules, column] = clock
        return clock

    def _check_fence(self, granules, issuer, what):
        writers = self.writer[granules]
        generic = (writers >= 0) & (self.writer_column[granules] < self.warps)
        fence = np.maximum(self.fenced[writers], self.fenced[issuer])
        missing = generic & (self.writer_time[granules] > fence)
        if missing.any():
            first = int(np.flatnonzero(missing)[0])
            cta, thread = self.machine.identity(int(writers[first]))
            offset = int(granules[first]) * self.granule % self.machine.shared.stride
            message = (
                f"{what} reads shared memory offset {offset}, which thread {thread} of CTA {cta} wrote with ordinary "
                "stores and no fence.proxy.async since"
            )
            self.machine.find("missing-proxy-fence", message, issuer, mem.SHARED_BASE + offset, int(missing.sum()))

    def async_done(self, index, column, clock):
        """Lanes `index` have waited for the operation `clock` of an asynchronous agent."""
        self.known[index, column] = np.maximum(self.known[index, column], clock)
