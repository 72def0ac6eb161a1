"""Threads that read memory and do nothing else in the whole launch, but for shuffles among warps of such threads.

A Triton block of fewer elements than threads is loaded by several threads each, of which one stores: what the others
read in place reaches nobody, so it races with nothing. Which threads these are shows only at the end of a launch: where
races over global memory were found, it runs once more without the reads of those, and that run is judged.
"""

import numpy as np

# What changes registers and the thread's own way only. All else, and what is not known here, may reach others.
_ARITHMETIC = """add sub mul mad addc subc madc fma mad24 sad div rem abs neg min max rcp sqrt rsqrt sin cos lg2 ex2
tanh copysign testp dp4a popc clz bfind brev bfe bfi and or xor not cnot lop3 shl shr shf setp set selp slct"""
_MOVEMENT = "mov cvt cvta isspacep prmt mapa getctarank ld ldu prefetch prefetchu createpolicy bra ret exit"
_WITHIN_WARP = {"shfl", "vote", "match", "redux"}
_PRIVATE = {*_ARITHMETIC.split(), *_MOVEMENT.split()}


def reaches_others(instruction):
    return instruction.opcode not in _PRIVATE and not (instruction.opcode == "st" and "local" in instruction.modifiers)


class Bystanders:
    """The masks of one launch's waves, in their order; what reaches others is noted by the machine."""

    def __init__(self, waves=()):
        self.known, self.waves = list(waves), []

    def start(self, machine):
        self._live = machine.exists & (machine.slot_of < len(machine.ctas))
        self._told, self._acted = np.zeros((2, machine.count), dtype=bool)  # their warp; anybody
        wave = len(self.waves)
        self.ignored = self.known[wave] if wave < len(self.known) else np.zeros(machine.count, dtype=bool)
        self.waves.append(None)

    def finish(self):
        warps = self._acted.reshape(-1, 32).any(axis=1).repeat(32)
        self.waves[-1] = self._live & ~self._acted & ~(self._told & warps)

    def noting(self, instruction, step):
        """The step of an instruction that reaches others, with a note of who executed it."""
        within_warp = instruction.opcode in _WITHIN_WARP

        def noted(lanes):
            reached = self._told if within_warp else self._acted
            reached |= lanes.mask
            return step(lanes)

        return noted
