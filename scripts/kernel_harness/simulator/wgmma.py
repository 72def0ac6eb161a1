"""WGMMA, and accumulators that are in flight until wait_group.

Products are formed in float64 and rounded once per instruction; the hardware accumulates a k-step in an order and
precision of its own.
"""

import re

import numpy as np

from . import ptx
from .legality import descriptor_problem
from .numerics import as_int32
from .operand_tiles import read_tile
from .operands import Modifiers
from .synchronization import _values
from .warp import ALL, ELEMENT_BITS, fragment, positions, to_float


def bind_wgmma(machine, instruction):
    mods = Modifiers(instruction)
    action = mods.take("fence", "commit_group", "wait_group", "mma_async")
    mods.skip("sync", "aligned")
    if action == "fence":
        mods.done()
        return lambda lanes: None
    if action == "commit_group":
        mods.done()
        return lambda lanes: machine.collective(lanes, ALL, lambda ready: _commit(machine, ready))
    if action == "wait_group":
        mods.done()
        pending = instruction.operands[0].value
        return lambda lanes: machine.collective(lanes, ALL, lambda ready: _wait(machine, ready, pending))
    return _bind_mma(machine, instruction, mods)


def _state(machine, warp):
    """[accumulators and clocks since the last commit, committed groups oldest first] of a warp."""
    return machine.wgmma_pending.setdefault(int(warp), [[], []])


def _commit(machine, lanes):
    for warp in np.unique(lanes.index // 32):
        state = _state(machine, warp)
        state[1].append(state[0])
        state[0] = []


def _wait(machine, lanes, pending):
    for warp in np.unique(lanes.index // 32):
        state = _state(machine, warp)
        finished = state[1][: max(len(state[1]) - pending, 0)]
        state[1] = state[1][len(finished) :]
        mine = lanes.index[lanes.index // 32 == warp]
        for group in finished:
            for _, column, clock in group:
                machine.clocks.async_done(mine, column, clock)
    machine.update_in_flight()


def _bind_mma(machine, instruction, mods):
    shape = next((m for m in mods.left if re.match(r"m64n\d+k\d+$", m)), None)
    if shape is None or "sp" in mods.left:
        raise mods.unsupported("shape or sparsity")
    mods.left.remove(shape)
    saturates = mods.flag("satfinite")
    n, k = (int(x) for x in re.match(r"m64n(\d+)k(\d+)", shape).groups())
    kinds = list(mods.left)
    if len(kinds) != 3 or kinds[1] not in ELEMENT_BITS or kinds[0] not in ("f32", "f16", "s32"):
        raise mods.unsupported(f"types {kinds}")
    d_kind, a_kind, b_kind = kinds
    operands = list(instruction.operands)
    targets = [machine.registers.array(item.name) for item in operands[0].items]
    names = frozenset(item.name for item in operands[0].items)
    a_registers = (
        [_values(machine, item, "b32") for item in operands[1].items] if isinstance(operands[1], ptx.Vector) else None
    )
    a_descriptor = None if a_registers else _values(machine, operands[1], "b64")
    b_descriptor = _values(machine, operands[2], "b64")
    scale_d = _values(machine, operands[3], "pred")
    flags = [operand.value for operand in operands[4:]]
    scale_a, scale_b = flags[:2] if len(flags) >= 2 else (1, 1)
    transposes = flags[2:]
    a_transposed = bool(transposes[0]) if len(transposes) == 2 else False
    b_transposed = bool(transposes[-1]) if transposes else False
    a_at = positions(a_kind, 16, k, "a")
    lane32 = np.arange(32)[:, None]
    element = np.arange(n // 2)[None]
    d_rows = lane32 // 4 + 8 * (element // 2 % 2)
    d_columns = 8 * (element // 4) + 2 * (lane32 % 4) + element % 2
    d_dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[d_kind]

    def tile(mine, descriptor, rows, kind, transposed):
        lane, rank = int(mine[0]), int(machine.shared_rank[mine[0]])
        return read_tile(machine, lane, rank, descriptor, (rows, k), kind, transposed, "wgmma", descriptor_problem)

    def left_operand(mine, warps, tiles):
        """(warps, 16, k) values of A, and the shared offsets that they come from."""
        if a_registers:
            a = np.zeros((len(warps), 16, k))
            a[:, a_at[0], a_at[1]] = to_float(fragment(a_registers, mine, ELEMENT_BITS[a_kind]), a_kind)
            return a, []
        key = (int(a_descriptor[mine[0]]), int(machine.slot_of[mine[0]]), "a")
        if key not in tiles:
            tiles[key] = tile(mine, key[0], 64, a_kind, a_transposed)
        whole, offsets = tiles[key]
        return whole.reshape(4, 16, k)[machine.thread_of[mine[::32]] // 32 % 4], [offsets]

    def execute(lanes):
        tiles = {}
        units = _units(machine, lanes, a_descriptor, b_descriptor)
        if not units:
            return
        everyone = (np.concatenate(units)[:, None] * 32 + np.arange(32)).ravel()
        sums = np.stack([target[everyone] for target in targets], axis=-1).view(d_dtype)  # (lanes, elements)
        done = 0
        for warps in units:
            mine = everyone[done : done + 32 * len(warps)]
            a, spans = left_operand(mine, warps, tiles)
            key = (int(b_descriptor[mine[0]]), int(machine.slot_of[mine[0]]), "b")
            if key not in tiles:
                tiles[key] = tile(mine, key[0], n, b_kind, b_transposed)
            b, b_offsets = tiles[key]
            product = (scale_a * scale_b) * (a.astype(np.float64) @ b.T.astype(np.float64))
            fragment = product[:, d_rows, d_columns].reshape(len(mine), -1)
            old = sums[done : done + len(mine)]
            total = fragment + np.where(scale_d[mine][:, None], old, d_dtype(0))
            old[...] = as_int32(total, saturates) if d_kind == "s32" else total
            done += len(mine)
            _issue(machine, warps, [*spans, b_offsets], names)
        for target, column in zip(targets, np.ascontiguousarray(sums.view(np.uint32).T), strict=True):
            target[everyone] = column
        machine.update_in_flight()

    return lambda lanes: machine.collective(lanes, ALL, execute)


def _units(machine, lanes, *descriptors):
    """The warps of each warpgroup that execute together with the same descriptors, as arrays of warp numbers."""
    units = {}
    for warp in np.unique(lanes.index // 32).tolist():
        lane = 32 * warp
        if not lanes.mask[lane : lane + 32].all():
            machine.find("barrier-misuse", "wgmma is executed by an incomplete warp", lane)
            continue
        group = int(machine.slot_of[lane]), int(machine.thread_of[lane]) // 128
        given = tuple(None if values is None else int(values[lane]) for values in descriptors)
        before, _ = machine.wgmma_history.get(warp, (0, 0))
        machine.wgmma_history[warp] = hash((before, machine.current, given)), machine.current
        units.setdefault((group, given), []).append(warp)
    return [np.array(warps) for warps in units.values()]


def check_alike(machine):
    """All threads have exited: did the four warps of each warpgroup execute the same wgmma and descriptors?"""
    per_cta, history = machine.lanes_per_cta // 32, machine.wgmma_history
    for warp, (digest, pc) in history.items():
        first = warp - warp % per_cta % 4
        if first + 4 > (warp // per_cta + 1) * per_cta or any(
            history.get(w, (0,))[0] != digest for w in range(first, first + 4)
        ):
            message = (
                "the four warps of a warpgroup do not execute the same wgmma with the same descriptors (PTX ISA, wgmma)"
            )
            machine.find("illegal-operand", message, 32 * warp, pc=pc)


def _issue(machine, warps, spans, accumulators):
    """Records the shared reads and the accumulators of a wgmma as in flight, for each of its warps."""
    lane = 32 * int(warps[0])
    column = machine.clocks.tensor_core_column(int(machine.warp_of[lane]))
    offsets = np.concatenate(spans)
    clock = machine.clocks.async_read(lane, (offsets, 16), column, "wgmma") if len(offsets) else 0
    for warp in warps:
        _state(machine, warp)[0].append((accumulators, column, clock))
