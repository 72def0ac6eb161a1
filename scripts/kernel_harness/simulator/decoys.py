"""Reads that race and make no difference: what they return reaches nobody.

A Triton block in place is often loaded by more threads than store it: copies of a small block's elements, or a warp
that keeps half of what it loads. One of them may read what another one has overwritten, and never uses it. Where reads
raced, the launch runs again with bytes of no meaning in their place; if memory ends the same and nothing else is found,
those were no races. With large positive numbers, large negative ones and zeros: no minimum, comparison or flag drops
all three.
"""

from dataclasses import dataclass, field

import numpy as np

BYTES = (0x7B, 0xFB, 0)  # of every byte of a number: 61296 in float16, 1.3e36 in float32; the same below zero; zero
_NOBODY = 62  # a level at which all threads are one


@dataclass
class Decoys:
    """levels: buffer -> per granule, how many low bits of a thread's code those share that may read it as it is: the
    thread, the warp or the unit (global_races.py) of who wrote it last. writers: buffer -> that code, 0 for nobody."""

    byte: int = BYTES[0]
    levels: dict = field(default_factory=dict)
    writers: dict = field(default_factory=dict)

    def add(self, races):
        """Takes in the reads that raced. False where all of them were decoys, or nothing raced."""
        finer = False
        for buffer, levels in races.levels.items():
            known = self.levels.get(buffer, np.full_like(levels, _NOBODY))
            finer |= bool((levels < known).any())
            self.levels[buffer] = np.minimum(levels, known)
            self.writers[buffer] = races.writers(buffer)
        return finer

    def which(self, buffer, granules, codes):
        """Of granules (n, k) that threads (n,) read by plain loads: which are decoys."""
        if buffer not in self.levels:
            return np.zeros(granules.shape, dtype=bool)
        writers = self.writers[buffer][granules]
        return (writers != 0) & ((writers ^ codes[:, None]) >> self.levels[buffer][granules] != 0)


def new_levels(size):
    return np.full(size, _NOBODY, dtype=np.int64)
