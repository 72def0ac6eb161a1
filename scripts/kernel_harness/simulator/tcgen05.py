"""tcgen05 but for its mma: allocation, loads, stores and copies of tensor memory, commits, waits and fences.

PTX ISA, "TensorCore 5th Generation Family Instructions". State and checks are in tensor_memory.py, mma is next door.
An operation takes effect when it is issued; the record knows it as unfinished until a wait or the mbarrier of a commit.
"""

import re

import numpy as np

from . import ptx
from .access import address_reader, store
from .copies import multicast_targets, signalled
from .legality import tensor_descriptor_problem
from .operand_tiles import chunk_addresses, read_chunks, swizzle_width
from .operands import Modifiers
from .synchronization import _values
from .tensor_memory import LANES, PENDING, Area, Request, blocked_lanes, single_thread
from .warp import ALL

_MANAGEMENT = ("alloc", "dealloc", "relinquish_alloc_permit")


def bind_tcgen05(machine, instruction):
    mods = Modifiers(instruction)
    action = mods.take("mma", "ld", "st", "cp", "commit", *_MANAGEMENT)
    if action == "mma":
        from .tcgen05_mma import bind_mma

        return bind_mma(machine, instruction, mods)
    if action in _MANAGEMENT:
        return _bind_management(machine, instruction, mods, action)
    if action in ("ld", "st"):
        return _bind_move(machine, instruction, mods, action == "ld")
    if action == "cp":
        return _bind_copy(machine, instruction, mods)
    if action == "commit":
        return _bind_commit(machine, instruction, mods)
    waited = mods.take("wait::ld", "wait::st")
    if not (waited or mods.take("fence::before_thread_sync", "fence::after_thread_sync")):
        raise mods.unsupported("operation")
    mods.skip("sync", "aligned")
    mods.done()
    if not waited:
        return lambda lanes: None

    def wait(lanes):
        memory = machine.tensor_memory
        for warp in np.unique(lanes.index // 32).tolist():
            (memory.wait_loads if waited == "wait::ld" else memory.wait_stores)(warp)

    return lambda lanes: machine.collective(lanes, ALL, wait)


def take_group(mods):
    group = mods.take("cta_group::1", "cta_group::2")
    if group is None:
        raise mods.unsupported("the form without .cta_group")
    return int(group[-1])


def pair_of(machine, lane, group, mods):
    """Slots of the CTAs that an operation issued by `lane` works on: its own, or its pair's, the even one first."""
    slot = int(machine.slot_of[lane])
    machine.tensor_memory.use_group(group, lane)
    if group == 1:
        return (slot,)
    if machine.shared_rank[lane] % 2 or machine.cluster_size % 2:
        raise mods.unsupported("an issue by the odd CTA of a pair, or without a pair,")
    return slot, slot + 1


def _warps(lanes):
    return [lanes.index[lanes.index // 32 == warp] for warp in np.unique(lanes.index // 32)]


def _same(machine, values, index, what):
    """The value that all lanes of a warp give."""
    if (values[index] != values[index[0]]).any():
        message = f"the threads of a warp give different values of {what} (PTX ISA, {what})"
        machine.find("illegal-operand", message, int(index[0]))
    return int(values[index[0]])


def _bind_management(machine, instruction, mods, action):
    group = take_group(mods)
    mods.skip("sync", "aligned", "b32")
    mods.take("shared::cta")
    mods.done()
    operands = instruction.operands
    columns = _values(machine, operands[1], "u32") if len(operands) > 1 else None
    target = address_reader(machine, operands[0]) if action == "alloc" else None
    source = _values(machine, operands[0], "u32") if action == "dealloc" else None

    def request(index):
        made = Request(action, int(machine.slot_of[index[0]]), index, machine.current)
        if columns is not None:
            made.columns = _same(machine, columns, index, f"tcgen05.{action}")
        if source is not None:
            made.address = _same(machine, source, index, f"tcgen05.{action}")
        if target is not None:
            addresses = target(index[:1])
            space = "shared" if addresses[0] < 1 << 32 else "generic"
            made.result = lambda start: store(
                machine, space, addresses, index[:1], np.array([[start]], np.uint32).view(np.uint8)
            )
        return made

    def step(lanes):
        requests = [request(index) for index in _warps(lanes)]
        for made in requests:
            machine.tensor_memory.manage(made, group)
        waiting = [made.lanes for made in requests if not made.done]
        return blocked_lanes(machine, lanes, np.concatenate(waiting) if waiting else ())

    return lambda lanes: machine.collective(lanes, ALL, step)


# Loads and stores ------------------------------------------------------------------------------------------------

_REGISTERS = {"32x32b": 1, "16x64b": 1, "16x32bx2": 1, "16x128b": 2, "16x256b": 4}  # of a thread, for .x1


def fragment(shape, count):
    """Which (lane, column), relative to the address, the register r of thread t holds: two arrays [t, r].

    The second half of .16x32bx2 lies elsewhere: its threads give the columns of the first half.
    """
    thread, register = np.arange(32)[:, None], np.arange(_REGISTERS[shape] * count)[None]
    zero = 0 * (thread + register)
    if shape == "32x32b":
        return thread + zero, register + zero
    if shape == "16x32bx2":
        return thread % 16 + zero, register + zero
    if shape == "16x64b":
        return thread // 4 + 8 * (thread % 2) + zero, thread // 2 % 2 + 2 * register
    if shape == "16x128b":
        return thread // 4 + 8 * (register % 2), thread % 4 + 4 * (register // 2)
    return thread // 4 + 8 * (register // 2 % 2), 2 * (thread % 4) + register % 2 + 8 * (register // 4)


def _bind_move(machine, instruction, mods, loads):
    mods.skip("sync", "aligned", "b32")
    shape = mods.take(*_REGISTERS)
    count = next((m for m in mods.left if re.match(r"x\d+$", m)), None)
    packed = mods.flag("pack::16b" if loads else "unpack::16b")
    if shape is None or count is None:
        raise mods.unsupported("shape")
    mods.left.remove(count)
    mods.done()
    operands = list(instruction.operands)
    vector = operands.pop(0) if loads else operands.pop()
    addresses_of = address_reader(machine, operands[0])
    names = [item.name for item in (vector.items if isinstance(vector, ptx.Vector) else (vector,))]
    registers = [machine.registers.array(name) for name in names]
    rows, columns = fragment(shape, int(count[1:]))
    if len(names) != rows.shape[1]:
        raise mods.unsupported(f"{len(names)} registers")
    # Packed: the halves of a register are the low halves of two neighbouring columns.
    parts = [2 * columns, 2 * columns + 1] if packed else [columns]
    if shape == "16x32bx2":
        parts = [part + operands[1].value * (np.arange(32)[:, None] // 16) for part in parts]
    memory_of = lambda: machine.tensor_memory

    def areas(index):
        """(lanes, columns) of each register of each thread and part, the areas that they make up, and (thread, what it
        knows, its clock) of the access; None: illegal."""
        address = _same(machine, addresses_of(np.arange(machine.count)), index, instruction.opcode + ".ld, .st")
        start, first = address >> 16, address & 0xFFFF
        quadrant = 32 * (int(machine.thread_of[index[0]]) // 32 % 4)
        if start not in ((quadrant,) if shape == "32x32b" else (quadrant, quadrant + 16)):
            reach = f"a warp reaches the 32 lanes from 32 * (its number % 4) on, here {quadrant}"
            message = f"tensor memory lane {start} with the shape .{shape}: {reach} (PTX ISA, tcgen05.ld)"
            machine.find("illegal-operand", message, int(index[0]))
            return None
        slot, lanes = int(machine.slot_of[index[0]]), start + rows
        places = [first + part for part in parts]
        halves = [np.s_[:16], np.s_[16:]] if shape == "16x32bx2" else [np.s_[:]]
        found = [
            Area(slot, np.unique(lanes[half]), np.unique(np.concatenate([place[half] for place in places])))
            for half in halves
        ]
        verb = "loads from" if loads else "stores to"
        # Each area is checked, so that every one that is outside is reported.
        if not all([memory_of().inside(area, int(index[0]), verb) for area in found]):
            return None
        access = int(index[0]), machine.clocks.known[index].max(axis=0), int(machine.clocks.own[index[0]])
        return [(slot, lanes, place) for place in places], found, access

    def load(index):
        if (legal := areas(index)) is None:
            return
        memory, (cells, found, access) = memory_of(), legal
        for area in found:
            memory.read(area, *access, PENDING, "loads")
            memory.loading.setdefault(int(index[0]) // 32, []).append((set(names), area))
        words = [memory.data[cell] for cell in cells]
        values = words[0] if len(words) == 1 else words[0] & 0xFFFF | words[1] << np.uint32(16)
        missing = ~np.logical_and.reduce([memory.written[cell] for cell in cells])
        for position, (name, register) in enumerate(zip(names, registers, strict=True)):
            register[index] = values[:, position]
            if missing[:, position].any():
                first = np.argmax(missing[:, position])
                lane, at = int(cells[0][1][first, position]), int(cells[0][2][first, position])
                origin = machine.current, f"loads tensor memory that nobody wrote: lane {lane}, column {at}", None
                machine.poison.begin([name], index[missing[:, position]], origin)

    def put(index):
        if (legal := areas(index)) is None:
            return
        memory, (cells, found, access) = memory_of(), legal
        for area in found:
            old = memory.data[area.cells].copy()
            memory.write(area, *access, PENDING, "stores to", old)
            memory.stored.setdefault(int(index[0]) // 32, []).append(area)
        values = np.stack([register[index] for register in registers], axis=1)
        unknown = np.zeros(values.shape, dtype=bool)
        for position, name in enumerate(names):
            if name in machine.poison.masks:
                unknown[:, position] = machine.poison.masks[name][index]
        for shift, cell in zip((0, 16), cells, strict=False):
            memory.data[cell] = values >> np.uint32(shift) & np.uint32(0xFFFF) if packed else values
            memory.written[cell] = ~unknown

    def step(lanes):
        for index in _warps(lanes):
            (load if loads else put)(index)

    return lambda lanes: machine.collective(lanes, ALL, step)


# Copies and commits ----------------------------------------------------------------------------------------------

# Shape -> (rows, 16-byte chunks of a row); multicast -> first lanes of each run of 32 rows.
_COPIES = {"128x256b": (128, 2), "128x128b": (128, 1), "64x128b": (64, 1), "32x128b": (32, 1)}
_MULTICASTS = {
    ("128x256b", None): ((0,), (32,), (64,), (96,)), ("128x128b", None): ((0,), (32,), (64,), (96,)),
    ("64x128b", "warpx2::02_13"): ((0, 64), (32, 96)), ("64x128b", "warpx2::01_23"): ((0, 32), (64, 96)),
    ("32x128b", "warpx4"): ((0, 32, 64, 96),),
}  # fmt: skip


def _bind_copy(machine, instruction, mods):
    group = take_group(mods)
    shape = mods.take(*_COPIES)
    multicast = mods.take("warpx2::02_13", "warpx2::01_23", "warpx4")
    mods.done()
    if (shape, multicast) not in _MULTICASTS:
        raise mods.unsupported("shape")
    targets = _MULTICASTS[shape, multicast]
    address_of, descriptors = address_reader(machine, instruction.operands[0]), instruction.operands[1]
    descriptors = _values(machine, descriptors, "b64")
    rows, per_row = _COPIES[shape]

    def copy(lane):
        memory, clocks = machine.tensor_memory, machine.clocks
        slots = pair_of(machine, lane, group, mods)
        address, descriptor = int(address_of(np.array([lane]))[0]), int(descriptors[lane])
        if problem := tensor_descriptor_problem(descriptor, swizzle_width(descriptor)):
            machine.find("illegal-operand", problem, lane)
        if address >> 16:
            raise mods.unsupported(f"a start at lane {address >> 16}")
        column = clocks.tensor_core_column(int(machine.warp_of[lane]))
        chunks = chunk_addresses(descriptor, rows, 16 * per_row, per_row, 1, False)
        for number, slot in enumerate(slots):
            data, offsets = read_chunks(machine, lane, int(machine.shared_rank[lane]) + number, chunks, "tcgen05.cp")
            area = Area(slot, np.arange(LANES), address + np.arange(4 * per_row))
            if data is None or not memory.inside(area, lane, "copies to"):
                continue
            clock = clocks.async_read(lane, (offsets, 16), column, "tcgen05.cp")
            words = np.zeros((LANES, 4 * per_row), dtype=np.uint32)
            for run, firsts in enumerate(targets):
                for first in firsts:
                    words[first : first + 32] = np.ascontiguousarray(data[32 * run : 32 * run + 32]).view(np.uint32)
            memory.write(area, lane, clocks.known[lane], column, clock, "copies to", words)
            finish(machine, lane, slot, column, clock)

    return lambda lanes: [copy(lane) for lane in single_thread(machine, lanes, "tcgen05.cp")] and None


def finish(machine, lane, slot, column, clock):
    """An operation of the tensor core, issued by `lane`, has touched the CTA in `slot`."""
    machine.tensor_memory.issued[lane] = clock
    machine.lifetimes.asynchronous(lane, slot * machine.shared.stride, column, clock)


def _bind_commit(machine, instruction, mods):
    group = take_group(mods)
    mods.take("mbarrier::arrive::one")
    space, multicast = mods.take("shared::cluster", default="generic"), mods.flag("multicast::cluster")
    mods.skip("b64")
    mods.done()
    barrier_of = address_reader(machine, instruction.operands[0])
    mask = _values(machine, instruction.operands[1], "b16") if multicast else None

    def commit(lane):
        clocks, address = machine.clocks, int(barrier_of(np.array([lane]))[0])
        machine.tensor_memory.use_group(group, lane)
        shared = "shared" if multicast else space
        targets = multicast_targets(machine, lane, address, mask[lane]) if multicast else [address]
        column = clocks.tensor_core_column(int(machine.warp_of[lane]))
        clock = machine.tensor_memory.issued.get(lane, 0)
        # What the thread knew when it issued its operations is known to who waits for them; its own writes are not.
        vector = clocks.known[lane].copy()
        vector[clocks.own[lane]] = 0
        vector[column] = max(vector[column], clock)
        for target in targets:
            found = signalled(machine, lane, target, shared)
            if found is None:
                continue
            offset, barrier = found
            np.maximum(barrier.arriving, vector, out=barrier.arriving)
            machine.lifetimes.asynchronous(lane, offset, column, clock)
            machine.barriers.count_down(barrier, lane, arrivals=1)

    def step(lanes):
        for lane in lanes.index.tolist():
            commit(lane)

    return step
