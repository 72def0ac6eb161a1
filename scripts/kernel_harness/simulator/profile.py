"""Counters per source line: requests, sectors, bytes and bank conflicts. Off by default: it costs time.

A request is one instruction of one warp. Global memory moves sectors of 32 bytes; a request that needs more of them
than its bytes fill is not coalesced. Shared memory has 32 banks of 4 bytes; a request takes one wavefront per distinct
word of its busiest bank, for each group of lanes that moves 128 bytes. A bulk or tensor copy is one request of the line
that issues it, on each of its sides; so is an operand that a matrix instruction reads from shared memory. What these do
there is counted as free of conflicts: 128 bytes a wavefront.
"""

import numpy as np


class Profile:
    def __init__(self):
        # (file, line, space, direction) -> {"requests", "bytes", "transfers": sectors or wavefronts, "ideal": at least}
        self.lines = {}

    def _row(self, machine, space, direction):
        instruction = machine.instructions[machine.current]
        key = (*machine.program.source(instruction.location), space, direction)
        return self.lines.setdefault(key, {"requests": 0, "bytes": 0, "transfers": 0, "ideal": 0})

    def copied(self, machine, direction, addresses, nbytes):
        """A bulk or tensor copy between shared memory and pieces of `nbytes` in global memory."""
        row = self._row(machine, "global", direction)
        row["requests"] += 1
        row["bytes"] += len(addresses) * nbytes
        row["transfers"] += self._sectors(addresses.astype(np.uint64), np.zeros(len(addresses), dtype=np.int64), nbytes)
        row["ideal"] += -(-len(addresses) * nbytes // 32)

    def streamed(self, machine, direction, nbytes):
        """A bulk or tensor copy, or a matrix instruction, moves `nbytes` of shared memory."""
        row = self._row(machine, "shared", direction)
        row["requests"] += 1
        row["bytes"] += nbytes
        row["transfers"] += -(-nbytes // 128)
        row["ideal"] += -(-nbytes // 128)

    def record(self, machine, space, direction, addresses, lanes, nbytes):
        if nbytes > 16:  # a tensor map, which the hardware fetches once
            return
        row = self._row(machine, space, direction)
        warp = lanes // 32
        moved = len(lanes) * nbytes
        row["requests"] += len(np.unique(warp))
        row["bytes"] += moved
        if space == "global":
            row["transfers"] += self._sectors(addresses, warp, nbytes)
            row["ideal"] += -(-moved // 32)
        else:
            wavefronts, groups = self._wavefronts(addresses, machine.lane_id[lanes], warp, nbytes)
            row["transfers"] += wavefronts
            row["ideal"] += groups

    @staticmethod
    def _sectors(addresses, warp, nbytes):
        first, last = addresses >> np.uint64(5), addresses + np.uint64(nbytes - 1) >> np.uint64(5)
        most = int((last - first).max()) + 1 if len(first) else 0
        touched = [np.minimum(first + np.uint64(i), last) for i in range(most)]
        every = np.concatenate(touched).astype(np.int64) if touched else np.zeros(0, dtype=np.int64)
        return len(np.unique(np.stack([np.tile(warp, most), every]), axis=1).T)

    @staticmethod
    def _wavefronts(addresses, lane, warp, nbytes):
        """(wavefronts, groups of lanes that could move in one wavefront each)."""
        per_group = min(32, 128 // nbytes)
        group = warp * 32 + lane // per_group
        words = (addresses.astype(np.int64)[:, None] >> 2) + np.arange(max(nbytes // 4, 1))
        distinct = np.unique(np.stack([np.repeat(group, words.shape[1]), words.ravel()]), axis=1)
        banks, counts = np.unique(np.stack([distinct[0], distinct[1] % 32]), axis=1, return_counts=True)
        groups, start = np.unique(banks[0], return_index=True)
        return int(np.maximum.reduceat(counts, start).sum()), len(groups)
