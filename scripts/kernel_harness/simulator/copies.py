"""Asynchronous copies without tensor maps: cp.async, cp.async.bulk, st.async, and their groups.

A copy takes effect when it is issued, except cp.async, whose data arrives when its thread waits for it; in both cases
the race record knows the copy as asynchronous until the wait, so reading too early is found.
"""

import numpy as np

from . import ptx
from .access import SPACES, address_reader, load, report_outside, store
from .operands import NUMPY_TYPES, Modifiers
from .synchronization import _values, mbarrier_offsets, shared_offset, shared_offsets

_SHARED = ("shared", "shared::cta", "shared::cluster")


def bind_cp(machine, instruction):
    mods = Modifiers(instruction)
    reduces = mods.flag("reduce")
    if not mods.flag("async"):
        raise mods.unsupported("operation")
    if mods.flag("bulk"):
        if mods.flag("commit_group"):
            return lambda lanes: commit_bulk(machine, lanes)
        if mods.flag("wait_group"):
            count, _ = instruction.operands[0].value, mods.flag("read")
            return lambda lanes: wait_bulk(machine, lanes, count)
        if mods.flag("prefetch"):
            return lambda lanes: None
        if mods.flag("tensor"):
            from .tensor_copies import bind_tensor

            return bind_tensor(machine, instruction, mods, reduces)
        return _bind_bulk(machine, instruction, mods, reduces)
    if mods.flag("commit_group"):
        return lambda lanes: _commit(machine, lanes)
    if mods.flag("wait_all"):
        return lambda lanes: _wait(machine, lanes, None)
    if mods.flag("wait_group"):
        count = instruction.operands[0].value
        return lambda lanes: _wait(machine, lanes, count)
    if mods.flag("mbarrier"):
        return _bind_mbarrier_arrive(machine, instruction, mods)
    return _bind_cp_async(machine, instruction, mods)


# cp.async --------------------------------------------------------------------------------------------------------


def _bind_cp_async(machine, instruction, mods):
    mods.take("ca", "cg")
    mods.take("shared", "shared::cta")
    mods.take("global")
    mods.skip("L2::*")
    mods.done()
    operands = instruction.operands
    destination, source = address_reader(machine, operands[0]), address_reader(machine, operands[1])
    size = operands[2].value
    source_size, ignore = None, None
    if len(operands) > 3:
        fourth = operands[3]
        name = getattr(fourth, "name", "")
        if machine.kernel.registers.get(name) == "pred":
            ignore = machine.registers.reader(fourth, "pred")
        elif machine.kernel.registers.get(name, "b32").endswith("32"):
            source_size = _values(machine, fourth, "u32")

    def step(lanes):
        index = lanes.index
        rows = np.zeros((len(index), size), dtype=np.uint8)
        addresses = source(index)
        wanted = np.full(len(index), size)
        if source_size is not None:
            wanted = np.minimum(source_size[index], size).astype(np.int64)
        if ignore is not None:
            wanted = np.where(ignore[index], 0, wanted)
        for amount in np.unique(wanted[wanted > 0]):
            chosen = np.flatnonzero(wanted == amount)
            rows[chosen, :amount] = _read_global(machine, addresses[chosen], index[chosen], int(amount))
        targets = destination(index)
        offsets = shared_offsets(machine, "shared", targets, index, size, "copies to")
        inside = offsets >= 0
        machine.clocks.pending_write(index[inside], offsets[inside], size)
        groups = machine.copy_count[index[inside]]
        machine.copies.append([index[inside], targets[inside], rows[inside], groups, offsets[inside]])
        if machine.profile:
            machine.profile.record(machine, "shared", "written", targets[inside], index[inside], size)

    return step


def _read_global(machine, addresses, lanes, nbytes):
    if nbytes & (nbytes - 1) == 0:
        return load(machine, "global", addresses, lanes, nbytes)
    return np.concatenate([load(machine, "global", addresses + np.uint64(i), lanes, 1) for i in range(nbytes)], axis=1)


def _commit(machine, lanes):
    machine.copy_count[lanes.mask] += 1


def _wait(machine, lanes, pending):
    """Completes the copies of these lanes whose group is not among the last `pending` committed ones."""
    limit = machine.copy_count + 1 if pending is None else machine.copy_count - pending
    kept = []
    for index, targets, rows, groups, offsets in machine.copies:
        done = lanes.mask[index] & (groups < limit[index])
        if done.any():
            machine.clocks.pending_done(index[done], offsets[done], rows.shape[1])
            store(machine, "shared", targets[done], index[done], rows[done], is_profiled=False)
        if not done.all():
            kept.append([index[~done], targets[~done], rows[~done], groups[~done], offsets[~done]])
    machine.copies = kept


def _bind_mbarrier_arrive(machine, instruction, mods):
    mods.flag("arrive")
    no_increment = mods.flag("noinc")
    mods.take(*_SHARED)
    mods.take("b64")
    mods.done()
    addresses_of = address_reader(machine, instruction.operands[0])

    def step(lanes):
        _wait(machine, lanes, None)
        index = lanes.index
        offsets = mbarrier_offsets(machine, "shared", addresses_of(index), index)
        for offset in np.unique(offsets[offsets >= 0]):
            mine = index[offsets == offset]
            barrier = machine.barriers.get(int(offset), mine)
            machine.clocks.release(mine, barrier.arriving)
            if no_increment:
                machine.barriers.count_down(barrier, int(mine[0]), len(mine))

    return step


# Bulk copies -----------------------------------------------------------------------------------------------------


class BulkGroups:
    """Per lane: the clocks of bulk stores not committed yet, and of committed groups, oldest first."""

    def __init__(self):
        self.open, self.committed = [], []


def _groups(machine, lane):
    return machine.bulk_groups[int(lane)]


def commit_bulk(machine, lanes):
    for lane in lanes.index.tolist():
        groups = machine.bulk_groups[lane]
        groups.committed.append(max(groups.open, default=0))
        groups.open = []


def wait_bulk(machine, lanes, pending):
    done = {}  # (warp, clock) -> lanes
    for lane in lanes.index.tolist():
        groups = machine.bulk_groups[lane]
        count = len(groups.committed) - pending
        if count > 0:
            clock = max(groups.committed[:count])
            del groups.committed[:count]
            if clock:
                done.setdefault((lane // 32, clock), []).append(lane)
    for (_, clock), waited in done.items():
        column = machine.clocks.bulk_store_column(int(machine.warp_of[waited[0]]))
        machine.clocks.async_done(np.array(waited), column, clock)


def bulk_read(machine, lane, spans):
    """Records that lane's bulk store reads shared memory, in its open group."""
    column = machine.clocks.bulk_store_column(int(machine.warp_of[lane]))
    _groups(machine, lane).open.append(machine.clocks.async_read(int(lane), spans, column, "a bulk store"))


def share_bulk_read(machine, first, lane):
    """`lane` issued the same bulk store as lane `first` of its warp, and must wait for it too."""
    _groups(machine, lane).open += _groups(machine, first).open[-1:]


def multicast_targets(machine, lane, address, mask):
    """Addresses of the same offset in each CTA of `mask`."""
    from .memory import CTA_SHIFT

    offset = int(address) & ((1 << CTA_SHIFT) - 1)
    if int(mask) >> machine.cluster_size:
        message = (
            f"a multicast to the CTAs 0b{int(mask):b} of a cluster of {machine.cluster_size} (PTX ISA, cp.async.bulk)"
        )
        machine.find("illegal-operand", message, int(lane))
    return [rank << CTA_SHIFT | offset for rank in range(machine.cluster_size) if int(mask) >> rank & 1]


def signalled(machine, lane, address, space="shared"):
    """(offset, mbarrier) that an asynchronous operation issued by `lane` signals; None where there is none."""
    index, verb = np.array([lane]), "uses an mbarrier of"
    if space.startswith("shared"):
        offset = shared_offset(machine, address, lane, 8, verb)
    else:
        where = np.array([address], dtype=np.uint64)
        offset = int(shared_offsets(machine, space, where, index, 8, verb)[0])
    if int(address) % 8:
        machine.find("misaligned", "an mbarrier must lie on a multiple of 8 bytes (PTX ISA, mbarrier)", int(lane))
    return None if offset < 0 else (offset, machine.barriers.get(offset, index))


def complete(machine, lane, mbarrier_address, nbytes, clock_of):
    """Signals `nbytes` at the mbarrier; `clock_of(column)` gives the operation's clock for the barrier's agent."""
    found = signalled(machine, lane, mbarrier_address)
    if found is None:
        return
    barrier = found[1]
    column = barrier.column
    barrier.arriving[column] = max(barrier.arriving[column], clock_of(column))
    machine.barriers.count_down(barrier, lane, nbytes=nbytes)


def write_shared(machine, lane, address, data, mbarrier_address):
    """Bulk data (bytes along a list of (address, bytes) rows) arrives in shared memory and signals the mbarrier."""
    rows = np.ascontiguousarray(data)
    offset = shared_offset(machine, address, lane, len(rows), "copies to")
    if offset < 0:
        return
    buffer = machine.shared.buffer
    buffer.data[offset : offset + len(rows)] = rows
    buffer.written[offset : offset + len(rows)] = True
    if buffer.swizzles is not None:
        buffer.swizzles[offset >> 4 : (offset + len(rows)) >> 4] = 0
    complete(
        machine,
        lane,
        mbarrier_address,
        len(rows),
        lambda column: _async_write(machine, lane, (np.array([offset]), len(rows)), column),
    )


def _async_write(machine, lane, spans, column):
    machine.clocks.async_write(int(lane), spans, column)
    return int(machine.clocks.async_clock[column])


def _check_bulk(machine, lane, nbytes, *addresses):
    if nbytes % 16 or any(int(address) % 16 for address in addresses):
        machine.find(
            "misaligned",
            f"a bulk copy of {nbytes} bytes needs sizes and addresses that are multiples of 16",
            int(lane),
            int(addresses[0]),
        )


def _bind_bulk(machine, instruction, mods, reduces):
    if reduces:
        raise mods.unsupported("operation")
    destination_space, source_space = mods.left[0], mods.left[1]
    if destination_space not in SPACES or source_space not in SPACES:
        raise mods.unsupported("direction")
    del mods.left[:2]
    barrier, group = mods.flag("mbarrier::complete_tx::bytes"), mods.flag("bulk_group")
    multicast = mods.flag("multicast::cluster")
    mods.skip("L2::*")
    mods.done()
    operands = list(instruction.operands)
    destination, source = (address_reader(machine, operand) for operand in operands[:2])
    size = _values(machine, operands[2], "u32")
    barrier_of = address_reader(machine, operands[3]) if barrier else None
    mask = _values(machine, operands[4], "b16") if multicast else None

    def step(lanes):
        for lane in lanes.index:
            index = np.array([lane])
            to, start, nbytes = destination(index)[0], source(index), int(size[lane])
            _check_bulk(machine, lane, nbytes, to, start[0])
            if source_space == "global":
                data = _read_span(machine, machine.memory, "global", start, index, nbytes)
                targets = multicast_targets(machine, lane, to, mask[lane]) if multicast else [int(to)]
                _profile_shared(machine, "written", nbytes * len(targets))
                signals = (
                    multicast_targets(machine, lane, barrier_of(index)[0], mask[lane])
                    if multicast
                    else [int(barrier_of(index)[0])]
                )
                for target, signal in zip(targets, signals, strict=True):
                    write_shared(machine, lane, target, data, signal)
                continue
            data = _read_span(machine, machine.shared, "shared", start, index, nbytes)
            offset = int(machine.shared.locate(start, index, nbytes)[0][0][2][0]) if len(data) else 0
            bulk_read(machine, lane, (np.array([offset]), nbytes))
            _profile_shared(machine, "read", nbytes)
            if group:
                _write_span(machine, to, data, lane)
            else:
                _profile_shared(machine, "written", nbytes)
                write_shared(machine, lane, to, data, barrier_of(index)[0])

    return step


def _profile_shared(machine, direction, nbytes):
    if machine.profile:
        machine.profile.streamed(machine, direction, nbytes)


def _read_span(machine, space, name, start, index, nbytes):
    parts, outside = space.locate(start, index, nbytes)
    report_outside(machine, name, start, index, outside, nbytes, "a bulk copy reads")
    if not parts:
        return np.zeros(nbytes, dtype=np.uint8)
    buffer, _, offsets = parts[0]
    offset = int(offsets[0])
    if buffer.written is not None and not buffer.written[offset : offset + nbytes].all():
        machine.find(
            "uninitialised-read",
            f"a bulk copy of {nbytes} bytes reads bytes that nobody wrote",
            int(index[0]),
            int(start[0]),
        )
    if buffer.is_global:
        machine.global_races.read(machine, buffer, offsets[:1], nbytes, index, nbytes)
        machine.lifetimes.dependent(buffer, index, offsets[:1], nbytes, "a bulk copy reads")
        if machine.profile:
            machine.profile.copied(machine, "read", start + np.arange(0, nbytes, 16, dtype=np.uint64), 16)
    return buffer.data[offset : offset + nbytes].copy()


def _write_span(machine, address, data, lane):
    index, start = np.array([lane]), np.array([address], dtype=np.uint64)
    if machine.profile:
        machine.profile.copied(machine, "written", start + np.arange(0, len(data), 16, dtype=np.uint64), 16)
    parts, outside = machine.memory.locate(start, index, len(data))
    report_outside(machine, "global", start, index, outside, len(data), "a bulk copy writes")
    for buffer, _, offsets in parts:
        offset = int(offsets[0])
        machine.global_races.write(machine, buffer, offsets[:1], len(data), index, data[None], len(data))
        machine.lifetimes.dependent(buffer, index, offsets[:1], len(data), "a bulk copy writes")
        buffer.data[offset : offset + len(data)] = data
        for mask in (buffer.written, buffer.marks):
            if mask is not None:
                mask[offset : offset + len(data)] = True


def bind_st_async(machine, instruction):
    mods = Modifiers(instruction)
    mods.skip("async", "weak", "shared::cluster", "mbarrier::complete_tx::bytes")
    count = int(mods.take("v2", "v4", default="v1")[1])
    kind = mods.type()
    mods.done()
    destination, source, barrier = instruction.operands
    items = source.items if isinstance(source, ptx.Vector) else (source,)
    readers = [_values(machine, item, kind) for item in items]
    destination, barrier = address_reader(machine, destination), address_reader(machine, barrier)
    dtype = np.dtype(NUMPY_TYPES[kind])

    def step(lanes):
        index = lanes.index
        rows = np.stack([reader[index] for reader in readers], axis=-1).view(np.uint8)
        assert rows.shape[1] == count * dtype.itemsize
        places = destination(index).tolist(), barrier(index).tolist()
        for lane, row, address, signal in zip(index.tolist(), rows, *places, strict=True):
            write_shared(machine, lane, address, row, signal)

    return step
