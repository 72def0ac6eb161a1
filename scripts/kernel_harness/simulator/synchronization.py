"""Instructions that synchronise: bar, barrier, mbarrier, fence. Their state lives in barriers.py."""

import numpy as np

from . import ptx
from .access import ORDERING, SCOPES, address_reader, locate, report_outside
from .barriers import SomeLanes
from .global_order import fences_ctas
from .memory import CTA_SHIFT, SHARED_BASE
from .operands import RESCHEDULE, Modifiers


def _values(machine, operand, kind):
    value = machine.registers.reader(operand, kind)
    return np.broadcast_to(value, (machine.count,)) if not np.ndim(value) else value


def bind_bar(machine, instruction):
    """bar and barrier of a CTA; barrier.cluster; bar.warp.sync."""
    mods = Modifiers(instruction)
    if mods.flag("cluster"):
        return _bind_cluster(machine, mods)
    if mods.flag("warp"):
        mods.flag("sync")
        mods.done()
        members = machine.registers.reader(instruction.operands[0], "b32")

        def warp_sync(lanes):
            return machine.collective(lanes, members, lambda ready: machine.clocks.warp_barrier(ready.index))

        return warp_sync
    mods.flag("cta")
    aligned = mods.flag("aligned") or instruction.opcode == "bar"
    action = mods.take("sync", "arrive", "red")
    operands = list(instruction.operands)
    reduction = mods.take("popc", "and", "or")
    if action == "red":
        return _bind_reduction(machine, mods, reduction, operands)
    mods.done()
    identifiers = _values(machine, operands[0], "u32")
    counts = _values(machine, operands[1], "u32") if len(operands) > 1 else None

    def step(lanes):
        machine.barriers.arrive(lanes, identifiers, counts, action == "sync")
        return RESCHEDULE if action == "sync" else None

    # Where the barrier is .aligned, as every bar is, all threads of a warp execute it, so it waits for its warp mates.
    return (lambda lanes: machine.collective(lanes, 0xFFFFFFFF, step)) if aligned else step


def _bind_reduction(machine, mods, reduction, operands):
    kind = mods.type()
    mods.done()
    store = machine.registers.writer(operands[0], kind)
    identifiers = _values(machine, operands[1], "u32")
    counts = _values(machine, operands[2], "u32") if len(operands) > 3 else None
    source = operands[-1]
    negated = isinstance(source, ptx.Negated)
    predicate = _values(machine, source.register if negated else source, "pred")

    def finish(arrived, waiting):
        votes = ~predicate[arrived] if negated else predicate[arrived]
        value = {"popc": votes.sum, "and": votes.all, "or": votes.any}[reduction]()
        store(value, SomeLanes(waiting))

    def step(lanes):
        machine.barriers.arrive(lanes, identifiers, counts, True, finish)
        return RESCHEDULE

    return step


def _bind_cluster(machine, mods):
    action, relaxed = mods.take("arrive", "wait"), mods.flag("relaxed")
    mods.skip("aligned", *ORDERING)
    mods.done()
    if action == "arrive":
        return lambda lanes: machine.barriers.cluster_arrive(lanes, not relaxed)
    return lambda lanes: machine.barriers.cluster_wait(lanes)


def shared_offsets(machine, space, addresses, index, nbytes, verb):
    """Offsets in the shared buffer of addresses that must be shared memory."""
    parts, outside = locate(machine, space, addresses, index, nbytes)
    report_outside(machine, space, addresses, index, outside, nbytes, verb)
    offsets = np.full(len(index), -1, dtype=np.int64)
    for _, positions, found, shared in parts:
        if shared:
            offsets[positions] = found
    return offsets


def shared_offset(machine, address, lane, nbytes, verb):
    """shared_offsets of one access by one lane to .shared; -1 outside."""
    rank, offset = divmod(int(address), 1 << CTA_SHIFT)
    offset -= SHARED_BASE
    if 0 <= rank < machine.cluster_size and 0 <= offset <= machine.shared.nbytes - nbytes:
        return (int(machine.first_slot[lane]) + rank) * machine.shared.stride + offset
    addresses, lanes = np.array([address], dtype=np.uint64), np.array([lane])
    return int(shared_offsets(machine, "shared", addresses, lanes, nbytes, verb)[0])


def mbarrier_offsets(machine, space, addresses, index, waits=False):
    """shared_offsets of mbarriers, which lie on 8 bytes and are waited for in their own CTA alone."""
    offsets = shared_offsets(machine, space, addresses, index, 8, "uses an mbarrier of")
    if (addresses % np.uint64(8)).any():
        lane = int(index[np.flatnonzero(addresses % np.uint64(8))[0]])
        machine.find("misaligned", "an mbarrier must lie on a multiple of 8 bytes (PTX ISA, mbarrier)", lane)
    remote = np.flatnonzero((offsets >= 0) & (offsets // machine.shared.stride != machine.slot_of[index]))
    if waits and len(remote):
        message = "waits for an mbarrier of another CTA; only its own CTA can (PTX ISA, mbarrier.test_wait, try_wait)"
        machine.find("illegal-operand", message, int(index[remote[0]]))
    inside = offsets >= 0
    machine.lifetimes.access(index[inside], offsets[inside])
    return offsets


def bind_mbarrier(machine, instruction):
    mods = Modifiers(instruction)
    action = mods.take(
        "init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait", "expect_tx", "complete_tx", "pending_count"
    )
    if action is None:
        raise mods.unsupported("operation")
    space = mods.take("shared", "shared::cta", "shared::cluster", default="generic")
    mods.skip(*ORDERING, *SCOPES)
    expects = mods.flag("expect_tx")
    mods.flag("noComplete")
    parity = mods.flag("parity")
    mods.take("b64")
    mods.done()
    operands = list(instruction.operands)
    if action == "pending_count":
        raise mods.unsupported("operation")
    returns = action in ("test_wait", "try_wait") or (
        action in ("arrive", "arrive_drop") and isinstance(operands[0], ptx.Register)
    )
    destination = operands.pop(0) if returns else None
    addresses_of = address_reader(machine, operands.pop(0))
    values = [
        _values(machine, operand, "u64" if action.endswith("_wait") and not parity else "u32") for operand in operands
    ]

    def per_barrier(lanes):
        index = lanes.index
        offsets = mbarrier_offsets(machine, space, addresses_of(index), index, action.endswith("_wait"))
        for offset in np.unique(offsets[offsets >= 0]):
            yield int(offset), index[offsets == offset]

    if action.endswith("_wait"):
        return _bind_wait(
            machine, per_barrier, values[0], machine.registers.writer(destination, "pred"), parity, action == "try_wait"
        )
    store = machine.registers.writer(destination, "b64") if returns and destination.name != "_" else None

    def step(lanes):
        barriers = machine.barriers
        for offset, index in per_barrier(lanes):
            lane = int(index[0])
            if action == "init":
                barriers.initialise(offset, int(values[0][lane]), lane)
                continue
            barrier = barriers.get(offset, index)
            if action == "inval":
                barriers.mbarriers.pop(offset)
            elif action in ("expect_tx", "complete_tx"):
                amount = int(values[0][index].sum())
                barriers.count_down(barrier, lane, **{"expect" if action == "expect_tx" else "nbytes": amount})
            else:
                if store:
                    mask = np.zeros(machine.count, dtype=bool)
                    mask[index] = True
                    store(np.uint64(barrier.phase), SomeLanes(mask))
                machine.clocks.release(index, barrier.arriving)
                count = len(index) if expects or not values else int(values[0][index].sum())
                if action == "arrive_drop":
                    barrier.expected -= count
                barriers.count_down(barrier, lane, count, expect=int(values[0][index].sum()) if expects else 0)

    return step


def _bind_wait(machine, per_barrier, values, store, parity, suspends):
    def step(lanes):
        barriers, blocked = machine.barriers, np.zeros(machine.count, dtype=bool)
        for offset, index in per_barrier(lanes):
            barrier = barriers.get(offset, index)
            for value in np.unique(values[index]):
                mine = index[values[index] == value]
                # Parity P asks for the last phase of parity P: it is complete once the current phase has the other.
                wanted = barrier.phase - (1 if (barrier.phase & 1) != (int(value) & 1) else 0) if parity else int(value)
                mask = np.zeros(machine.count, dtype=bool)
                mask[mine] = True
                if barrier.phase > wanted:
                    store(np.bool_(True), SomeLanes(mask))
                    machine.clocks.acquire(mine, barrier.completed)
                elif not suspends:
                    store(np.bool_(False), SomeLanes(mask))
                    machine.poll(SomeLanes(mask))
                else:
                    blocked |= mask
                    barriers.waiting.append((mask, barrier, wanted, offset, machine.current, store))
        if not blocked.any():
            return None
        machine.pc[lanes.mask] = machine.current + 1
        return machine.wait(SomeLanes(blocked))

    return step


def bind_fence(machine, instruction):
    """fence and membar. Ordering within a CTA comes from barriers; the proxy fence is what bulk copies need, a fence of
    the GPU what other CTAs do."""
    mods = Modifiers(instruction)
    proxy = mods.flag("proxy")
    asynchronous = mods.flag("async") or any(m.startswith("async") for m in mods.left)
    initialises = mods.flag("mbarrier_init")
    mods.skip("async", "async::generic", "alias", "tensormap::generic", "sync_restrict::*")
    mods.skip("global", "shared", "shared::cta", "shared::cluster", "sc", "gl", *ORDERING, *SCOPES)
    mods.done()
    if proxy and asynchronous:
        return lambda lanes: machine.clocks.proxy_fence(lanes.index)
    if initialises:
        return lambda lanes: machine.clocks.fence_inits(lanes.index)
    if machine.global_races.order and fences_ctas(instruction):
        return lambda lanes: machine.global_races.order.fence(lanes.index)
    return lambda lanes: None
