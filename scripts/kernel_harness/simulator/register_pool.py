"""setmaxnreg: the registers of a CTA's warps, and who waits for whom to give some up.

PTX ISA, "Miscellaneous: setmaxnreg". A launch hands every warp the same number; .dec returns registers to the pool of
the CTA and .inc waits until the pool holds enough. Without a known number at launch (neither the compiled kernel's nor
one from .maxnreg or .minnctapersm) the instruction is a hint without effect, as on the hardware.
"""

import numpy as np

from .barriers import SomeLanes
from .legality import REGISTERS_PER_CTA, allocated
from .operands import Modifiers
from .warp import ALL

_SOURCE = "PTX ISA, setmaxnreg"


def registers_at_launch(kernel, launch):
    """Registers per thread that the launch hands out, None where nothing says so."""
    directives = kernel.directives
    bound = directives.get("reqntid") or directives.get("maxntid")
    if not ("maxnreg" in directives or (bound and "minnctapersm" in directives)):
        return None
    if launch.options.registers:
        return allocated(launch.options.registers)
    if "maxnreg" in directives:
        return allocated(directives["maxnreg"][0])
    share = REGISTERS_PER_CTA // (int(np.prod(bound)) * max(directives["minnctapersm"][0], 1))
    return min(share // 8 * 8, 256)


class RegisterPool:
    def __init__(self, machine):
        self.machine = machine
        self.start = registers_at_launch(machine.kernel, machine.launch)
        self.warps = machine.lanes_per_cta // 32
        self.held = {}  # warp -> registers per thread, where they changed
        self.free = {}  # CTA slot -> registers per thread of one warp that wait in its pool
        self.waiting = []  # (warp, registers asked for, lanes, index of the instruction), oldest first
        self.history = {}  # warp -> [(grows, registers, index of the instruction)]

    def change(self, warp, grows, count):
        """Does the warp have `count` registers now? Otherwise it must wait."""
        self.history.setdefault(warp, []).append((grows, count, self.machine.current))
        if self.start is None:
            return True
        if not grows:
            self._take(warp, count)
            self._serve()
            return True
        return self._fits(warp, count) and self._take(warp, count)

    def _fits(self, warp, count):
        return count - self.held.get(warp, self.start) <= self.free.get(warp // self.warps, 0)

    def _take(self, warp, count):
        slot = warp // self.warps
        self.free[slot] = self.free.get(slot, 0) + self.held.get(warp, self.start) - count
        self.held[warp] = count
        return True

    def _serve(self):
        for entry in list(self.waiting):
            if self._fits(*entry[:2]):
                self._take(*entry[:2])
                self.waiting.remove(entry)
                self.machine.wake(entry[2])

    def report_deadlock(self):
        for warp, count, lanes, pc in self.waiting:
            free = self.free.get(warp // self.warps, 0)
            message = (
                f"setmaxnreg.inc waits for ever for {count} registers per thread: its warp has "
                f"{self.held.get(warp, self.start)} of the {self.start} of each at launch, "
                f"the others left {free} ({_SOURCE})"
            )
            self.machine.find("deadlock", message, int(np.flatnonzero(lanes)[0]), pc=pc)

    def check_end(self):
        """All threads have exited: did the warps of each warpgroup execute the same?"""
        for warp, executed in self.history.items():
            first = warp - warp % self.warps % 4
            mates = range(first, min(first + 4, (warp // self.warps + 1) * self.warps))
            # NVIDIA's fmha.py for sm_100 writes one per warp role, all with the same number.
            if any([done[:2] for done in self.history.get(mate, ())] != [d[:2] for d in executed] for mate in mates):
                message = f"not all warps of a warpgroup execute the same setmaxnreg ({_SOURCE})"
                self.machine.find("illegal-operand", message, warp * 32, pc=executed[-1][2])


def bind_setmaxnreg(machine, instruction):
    mods = Modifiers(instruction)
    grows = mods.take("inc", "dec") == "inc"
    mods.skip("sync", "aligned", "u32")
    mods.done()
    count = instruction.operands[0].value

    def execute(lanes):
        if not 24 <= count <= 256 or count % 8:
            message = f"setmaxnreg to {count}: it takes multiples of 8 from 24 to 256 ({_SOURCE})"
            machine.find("illegal-operand", message, int(lanes.index[0]))
        pool, blocked = machine.register_pool, np.zeros(machine.count, dtype=bool)
        for warp in np.unique(lanes.index // 32).tolist():
            if not pool.change(warp, grows, count):
                mask = np.zeros(machine.count, dtype=bool)
                mask[lanes.index[lanes.index // 32 == warp]] = True
                pool.waiting.append((warp, count, mask, machine.current))
                blocked |= mask
        if not blocked.any():
            return None
        machine.pc[lanes.mask] = machine.current + 1
        return machine.wait(SomeLanes(blocked))

    return lambda lanes: machine.collective(lanes, ALL, execute)
