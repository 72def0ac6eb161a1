"""clusterlaunchcontrol: a running cluster takes over the work of one that has not started.

PTX ISA, "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel". The response is opaque there; here its
four words are whether a cluster was cancelled and the index (x, y, z) of that cluster's first CTA.
"""

import re

import numpy as np

from . import ptx
from .access import address_reader
from .copies import multicast_targets, write_shared
from .operands import Modifiers
from .tensor_memory import single_thread

CLUSTERS = 2  # that start together where a kernel cancels others, so that some are left for it to take


def bind_clusterlaunchcontrol(machine, instruction):
    mods = Modifiers(instruction)
    if mods.flag("query_cancel"):
        return _bind_query(machine, instruction, mods)
    if not mods.flag("try_cancel"):
        raise mods.unsupported("operation")
    mods.skip("async", "shared::cta", "mbarrier::complete_tx::bytes", "b128")
    multicast = mods.flag("multicast::cluster::all")
    mods.done()
    target_of, barrier_of = (address_reader(machine, operand) for operand in instruction.operands)

    def step(lanes):
        for lane in single_thread(machine, lanes, "clusterlaunchcontrol.try_cancel"):
            index, waiting = np.array([lane]), machine.program.waiting
            words = (1, *machine.program.ctas[waiting.popleft()]) if waiting else (0, 0, 0, 0)
            places = [[int(of(index)[0])] for of in (target_of, barrier_of)]
            if multicast:
                everyone = (1 << machine.cluster_size) - 1
                places = [multicast_targets(machine, lane, address, everyone) for (address,) in places]
            for target, barrier in zip(*places, strict=True):
                write_shared(machine, lane, target, np.array(words, np.uint32).view(np.uint8), barrier)

    return step


def _bind_query(machine, instruction, mods):
    asked = next((m for m in mods.left if re.match(r"is_canceled$|get_first_ctaid(::[xyz])?$", m)), None)
    if asked is None:
        raise mods.unsupported("query")
    mods.skip("v4", "b32", "pred", "b128", asked)
    mods.done()
    destination, source = instruction.operands
    response = machine.registers.array(source.name)
    words = lambda: response.view(np.uint32).reshape(machine.count, 4)
    if asked == "is_canceled":
        write = machine.registers.writer(destination, "pred")
        return lambda lanes: write(words()[:, 0] != 0, lanes)
    targets = destination.items if isinstance(destination, ptx.Vector) else (destination,)
    first = "xyz".index(asked[-1]) if "::" in asked else 0
    writers = [machine.registers.writer(target, "b32") for target in targets[:3]]

    def step(lanes):
        for position, write in enumerate(writers):
            write(words()[:, 1 + first + position], lanes)

    return step
