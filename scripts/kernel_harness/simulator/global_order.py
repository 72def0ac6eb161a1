"""How CTAs order themselves through global memory: what a thread knows of the accesses of other units (clusters).

PTX ISA, "Memory Consistency Model": a release that is observed by an acquire orders what came before the one, in its
thread and across the barriers of its CTA, before what comes after the other. Here each release, a fence for the GPU or
a strong write that says so, gets a number in its unit, and a vector: up to which clock (races.py) of each lane of the
unit it is ordered. A thread's newest numbers lie in columns of its clocks, one per unit, so barriers hand them on.
Strong writes leave them at their word, strong reads and atomics take in what they find there.

Where this is not exact, it takes accesses for ordered: a release covers what earlier ones of its unit covered; a strong
read acquires without a fence behind it, as in CUDA's threadFenceReduction sample; a barrier hands on a fence.
"""

import numpy as np

_MOST_UNITS = 4096
_MOST_KNOWN = 1 << 24  # numbers that the words of a launch may keep
_MOST_RELEASES = 64  # of a unit that are told apart; later ones count as the last of them


def fences(instruction):
    """Is this a fence of memory between threads?"""
    return instruction.opcode in ("fence", "membar") and not {"proxy", "mbarrier_init"} & set(instruction.modifiers)


def fences_ctas(instruction):
    return fences(instruction) and not {"gpu", "sys", "gl"}.isdisjoint(instruction.modifiers)


class Order:
    def __init__(self, units, lanes):
        """units: of the launch; lanes: of a unit."""
        self.units, self.lanes = units, lanes
        self.gives_up = units > _MOST_UNITS  # then nothing is said of this launch
        self.columns = 0 if self.gives_up else units
        self._releases = {}  # unit -> vectors, (lanes,) each
        self._rows = {}  # buffer -> per word of 4 bytes the row of _known, 0: nobody left anything there
        self._known, self._used = np.zeros((64, self.columns), dtype=np.int32), 1

    def start(self, clocks, units):
        """A wave of CTAs begins. units: of each lane, counted from 1."""
        self.clocks, self._unit = clocks, units - 1
        self._place = np.arange(len(units)) % self.lanes

    def fence(self, index):
        """Lanes `index` execute a fence for the GPU: their later strong writes tell what they are ordered after now."""
        if not self.gives_up:
            self.clocks.known[index, self.clocks.first_unit + self._unit[index]] = self._release(index)

    def write(self, buffer, offsets, index, is_release):
        """Strong writes of lanes `index`: whoever reads these words learns what they tell."""
        if self.gives_up:
            return
        told = self.clocks.known[index, self.clocks.first_unit :]
        if is_release:
            told[np.arange(len(index)), self._unit[index]] = self._release(index)
        tells = told.any(axis=1)
        if tells.any():
            rows = self._rows_at(buffer, offsets[tells])
            if not self.gives_up:
                np.maximum.at(self._known, rows, told[tells])

    def _release(self, index):
        """The numbers of the releases by lanes `index`. The first lane's is its own: it is the one that counts, mostly,
        and not ordered after what the others release in this very instruction."""
        clocks, numbers = self.clocks, np.zeros(len(index), dtype=np.int32)
        for unit in np.unique(self._unit[index]):
            at = np.flatnonzero(self._unit[index] == unit)
            for part in (at[:1], at[1:]):
                if len(part):
                    numbers[part] = self._number(int(unit), index[part])
        clocks.known[index, clocks.own[index]] += 1
        return numbers

    def _number(self, unit, lanes):
        clocks, own = self.clocks, self.clocks.own[lanes]
        covered = clocks.known[lanes, : clocks.warps]
        covered[np.arange(len(lanes)), own] = clocks.synced[lanes]
        vector = covered.max(axis=0).repeat(32)
        np.maximum.at(vector, self._place[lanes], clocks.known[lanes, own])
        vectors = self._releases.setdefault(unit, [])
        if vectors:
            np.maximum(vector, vectors[-1], out=vector)
        if len(vectors) == _MOST_RELEASES:
            vectors.pop()
        vectors.append(vector)
        return len(vectors)

    def _rows_at(self, buffer, offsets):
        if buffer not in self._rows:
            self._rows[buffer] = np.zeros(len(buffer) // 4 + 1, dtype=np.int32)
        rows, words = self._rows[buffer], np.unique(offsets // 4)
        fresh = words[rows[words] == 0]
        needed = self._used + len(fresh)
        if needed * self.units > _MOST_KNOWN:
            self.gives_up = True
            return None
        while needed > len(self._known):
            self._known = np.concatenate([self._known, np.zeros_like(self._known)])
        rows[fresh] = np.arange(self._used, needed)
        self._used = needed
        return rows[offsets // 4]

    def read(self, buffer, offsets, index):
        """Strong reads of lanes `index`."""
        if self.gives_up or buffer not in self._rows:
            return
        rows = self._rows[buffer][offsets // 4]
        index, rows = index[rows > 0], rows[rows > 0]
        if len(index):
            columns = self.clocks.first_unit + np.arange(self.units)
            known = self.clocks.known[np.ix_(index, columns)]
            self.clocks.known[np.ix_(index, columns)] = np.maximum(known, self._known[rows])

    def is_after(self, index, units, places, clocks, several):
        """Are lanes `index` ordered after accesses of `units`, counted from 1, by the lanes at `places` of each at
        `clocks`? several: the access may have been by any lane of that warp. All of one length."""
        numbers = self.clocks.known[index, self.clocks.first_unit + units - 1]
        result = np.zeros(len(index), dtype=bool)
        for unit, number in set(zip(units[numbers > 0].tolist(), numbers[numbers > 0].tolist(), strict=True)):
            which = (units == unit) & (numbers == number)
            vector = self._releases[unit - 1][number - 1]
            of_warp = vector.reshape(-1, 32).min(axis=1).repeat(32)
            reached = np.where(several[which], of_warp[places[which]], vector[places[which]])
            result[which] = clocks[which] <= reached
        return result
