"""The executor: a wave of CTAs whose threads run as the lanes of NumPy arrays.

Lanes at the same instruction run together; the group with the lowest program counter goes first, so diverged lanes
meet again where their paths join. A lane that must wait (barrier, mbarrier, warp mates) leaves the ready set and
returns when it is woken. Nobody ready and nobody finished is a deadlock, and is reported as one.
"""

import re
from collections import defaultdict

import numpy as np

from . import copies, semantics, wgmma
from . import memory as mem
from .barriers import Barriers
from .findings import Finding, SimulationError
from .lifetimes import Lifetimes
from .operands import EXITED, PARKED, READY, RESCHEDULE, WAITING, Lanes, RegisterFile
from .poison import Poison
from .races import Clocks
from .register_pool import RegisterPool
from .tensor_memory import TensorMemory

SPIN_LIMIT = 2000  # backward jumps of one group before the others get a turn
LOOP_LIMIT = 1_000_000  # iterations of a loop while nobody else can run
POLL_LIMIT = 100_000  # iterations of loops that watch memory while nobody changes any
_FAR = 1 << 30


class Machine:
    """One wave: `ctas` is a list of CTA indices (x, y, z), clusters contiguous and whole."""

    def __init__(self, program, launch, memory, report, slots, profile=None):
        self.program, self.launch, self.memory, self.report = program, launch, memory, report
        self.profile, self.global_races = profile, program.global_races
        kernel = program.kernel
        self.kernel, self.instructions = kernel, kernel.instructions
        threads = launch.threads_per_cta
        self.lanes_per_cta = (threads + 31) // 32 * 32
        self.slots, self.count = slots, slots * self.lanes_per_cta
        lane = np.arange(self.count)
        self.slot_of = lane // self.lanes_per_cta
        self.thread_of = lane % self.lanes_per_cta
        self.exists = self.thread_of < threads
        self.cluster_size = launch.ctas_per_cluster
        self.first_slot = self.slot_of // self.cluster_size * self.cluster_size
        self.warps_per_cluster = self.cluster_size * self.lanes_per_cta // 32
        self.warp_of = lane // 32 % self.warps_per_cluster  # within the cluster
        self.shared_rank = (self.slot_of - self.first_slot).astype(np.int64)

        self.pc = np.zeros(self.count, dtype=np.int64)
        self.state = np.full(self.count, EXITED, dtype=np.int8)
        self.yielded = np.zeros(self.count, dtype=bool)
        self.current, self.ticks = 0, 0
        self._spins, self._polled, self.polls = 0, False, 0
        self.carry = np.zeros(self.count, dtype=bool)
        self._steps = [None] * len(self.instructions)

        self.parameter_names = {parameter.name for parameter in kernel.parameters}
        self.parameters = mem.Buffer(
            np.frombuffer(launch.parameter_bytes(kernel), dtype=np.uint8).copy(), mem.PARAMETER_WINDOW, "parameters"
        )
        self.registers = RegisterFile(self.count, kernel.registers, self._addresses())
        self._special_registers()

    # Set-up ----------------------------------------------------------------------------------------------------

    def _addresses(self):
        """Symbol -> address: an int, or one address per lane for shared variables."""
        addresses = dict(self.program.globals)
        for parameter, offset in self.launch.parameter_offsets(self.kernel):
            addresses[parameter.name] = mem.PARAMETER_WINDOW + offset
        local = 0
        for name, variable in self.kernel.variables.items():
            if variable.space in ("local", "param"):
                local = -(-local // variable.align) * variable.align
                addresses[name] = local
                local += variable.nbytes
        self.local_bytes = local
        rank = self.shared_rank.astype(np.uint64) << np.uint64(mem.CTA_SHIFT)
        for name, offset in self.program.shared_offsets.items():
            addresses[name] = rank + np.uint64(mem.SHARED_BASE + offset)
        return addresses

    def _special_registers(self):
        special, launch = self.registers.special, self.launch
        threads = self.thread_of.astype(np.uint32)
        x, y, _ = launch.block
        for axis, value in zip("xyz", (threads % x, threads // x % y, threads // (x * y)), strict=True):
            special[f"%tid.{axis}"] = value.astype(np.uint32)
        full = lambda value: np.full(self.count, value, dtype=np.uint32)
        for index, axis in enumerate("xyz"):
            special[f"%ntid.{axis}"] = full(launch.block[index])
            special[f"%nctaid.{axis}"] = full(launch.grid[index])
            special[f"%cluster_nctaid.{axis}"] = full(launch.cluster[index])
            special[f"%nclusterid.{axis}"] = full(launch.grid[index] // launch.cluster[index])
            for name in ("ctaid", "cluster_ctaid", "clusterid"):
                special[f"%{name}.{axis}"] = full(0)
        lane, zeros = threads % 32, np.zeros(self.count, dtype=np.uint64)
        special |= {
            "%laneid": lane, "%warpid": threads // 32, "%nwarpid": full(self.lanes_per_cta // 32), "%smid": full(0),
            "%nsmid": full(132), "%gridid": zeros.copy(), "%cluster_ctarank": self.shared_rank.astype(np.uint32),
            "%cluster_nctarank": full(self.cluster_size),
            "%is_explicit_cluster": np.full(self.count, self.cluster_size > 1),
            "%dynamic_smem_size": full(launch.shared_bytes), "%total_smem_size": full(self.program.shared_bytes),
            "%clock": full(0), "%clock64": zeros.copy(), "%globaltimer": zeros.copy(),
            "%lanemask_eq": np.uint32(1) << lane, "%lanemask_lt": (np.uint32(1) << lane) - np.uint32(1),
            "%lanemask_le": (np.uint32(2) << lane) - np.uint32(1),
            "%lanemask_gt": ~((np.uint32(2) << lane) - np.uint32(1)),
            "%lanemask_ge": ~((np.uint32(1) << lane) - np.uint32(1)),
        }  # fmt: skip
        self.lane_id = lane.astype(np.int64)

    def start(self, ctas, first=0, last_wave=True):
        """Prepares the lanes for `ctas`, the first of which is CTA number `first` of the launch.

        A wave that is not full leaves the rest of the lanes exited.
        """
        self.ctas, self.last_wave = ctas, last_wave
        self.unit = 1 + (first + self.slot_of) // self.cluster_size  # the cluster of each lane, for global memory
        units = self.global_races.start(self)
        used = self.slot_of < len(ctas)
        index = np.array(ctas + [(0, 0, 0)] * (self.slots - len(ctas)), dtype=np.uint32)[self.slot_of]
        for axis, name in enumerate("xyz"):
            size = np.uint32(self.launch.cluster[axis])
            self.registers.special[f"%ctaid.{name}"][:] = index[:, axis]
            self.registers.special[f"%cluster_ctaid.{name}"][:] = index[:, axis] % size
            self.registers.special[f"%clusterid.{name}"][:] = index[:, axis] // size
        self.pc[:] = 0
        self.state[:] = np.where(used & self.exists, READY, EXITED)
        self.yielded[:] = False
        self.shared = mem.Window(
            self.slots, self.program.shared_bytes, mem.SHARED_BASE, "shared memory", self._shared_owner
        )
        self.local = mem.Window(
            self.count, self.local_bytes, 0, "local memory", lambda address, lanes: (lanes, address)
        )
        self.clocks = Clocks(self, self.program.shared_granule, units)
        if self.global_races.order:
            self.global_races.order.start(self.clocks, self.unit)
        self.barriers, self.lifetimes, self.register_pool = Barriers(self), Lifetimes(self), RegisterPool(self)
        self.tensor_memory = TensorMemory(self)
        self.bulk_groups = defaultdict(copies.BulkGroups)  # by lane
        self.copies, self.copy_count = [], np.zeros(self.count, dtype=np.int64)  # cp.async in flight; committed groups
        self.wgmma_history = {}  # warp -> (digest of what it executed, index of the last instruction)
        self.wgmma_pending = {}  # warp -> [operations since the last commit, committed groups]
        self.in_flight = None  # accumulators that wgmma has not delivered: set of registers -> warps
        self.poison = Poison(self)
        self.trapped = False

    def _shared_owner(self, address, lanes):
        rank = address >> mem.CTA_SHIFT
        slot = np.where(rank < self.cluster_size, self.first_slot[lanes] + rank, 1 << 30)
        return slot, address & ((1 << mem.CTA_SHIFT) - 1)

    # Running ---------------------------------------------------------------------------------------------------

    def run(self):
        while not self.trapped:
            ready = self.state == READY
            if not ready.any():
                if (self.state == EXITED).all():
                    for checked in (self.barriers, self.lifetimes, self.register_pool, self.tensor_memory):
                        checked.check_end()
                    wgmma.check_alike(self)
                    return
                if not self.barriers.time_out():
                    self.barriers.report_deadlock()
                continue
            candidates = ready & ~self.yielded
            if not candidates.any():
                self.yielded[:] = False
                candidates = ready
            pc = int(self.pc[candidates].min())
            at = (self.pc == pc) & (ready | (self.state == PARKED))
            others = (ready | (self.state == PARKED)) & ~at
            later = self.pc[others & (self.pc > pc)]
            self.state[at] = READY
            self._run_group(Lanes(at), pc, int(later.min()) if later.size else _FAR, bool(others.any()))

    def _run_group(self, lanes, pc, stop, others):
        steps, poison, spins, executed = self._steps, self.poison, 0, 0
        loading = self.tensor_memory.loading
        while True:
            self.current = pc
            step = steps[pc]
            if step is None:
                step = steps[pc] = self.bind(pc)
            executed += 1
            if self.in_flight is not None:
                self._check_in_flight(pc, lanes)
            if loading:
                self.tensor_memory.follow(pc, lanes)
            if poison:
                poison.before(pc, lanes)
            outcome = step(lanes)
            if outcome is None:
                pc += 1
            elif outcome >= 0:
                spins += outcome <= pc
                back, pc = outcome <= pc, outcome
                if back and self._polled:
                    self._polled = False
                    self.polls += 1
                if spins > LOOP_LIMIT or self.polls > POLL_LIMIT:
                    self._give_up(lanes, pc)
                    break
                if others and back:
                    self.pc[lanes.mask] = pc
                    self.spin(lanes)
                    break
            else:
                break
            if pc >= stop:
                self.pc[lanes.mask] = pc
                break
        self.report.counters["instructions"] = self.report.counters.get("instructions", 0) + executed * self.warps(
            lanes
        )

    def spin(self, lanes):
        """Called on a backward jump while others are ready: after many, the others get a turn."""
        self._spins += 1
        if self._spins > SPIN_LIMIT:
            self._spins = 0
            self.yielded[lanes.mask] = True

    def poll(self, lanes):
        """A thread watches memory with this instruction: its next backward jump lets the others go first."""
        self._spins, self._polled = SPIN_LIMIT, True

    def _give_up(self, lanes, pc):
        """A loop does not end. If CTAs have yet to start, they might end it, and nothing can be said."""
        self.current, self.trapped = pc, True
        if not self.last_wave:
            raise SimulationError(
                "a CTA waits in a loop, perhaps for CTAs that the simulator has not started yet: give simulate() or "
                "SimulatedDevice() more wave_lanes, so that more CTAs run together"
            )
        self.find("deadlock", "a loop does not end, and nobody changes what it waits for", int(lanes.index[0]))

    def warps(self, lanes):
        return int(lanes.mask.reshape(-1, 32).any(axis=1).sum())

    def bind(self, pc):
        instruction = self.instructions[pc]
        rule = semantics.RULES.get(instruction.opcode)
        if rule is None:
            raise semantics.unknown(instruction)
        step = rule.bind(self, instruction)
        if instruction.predicate is None or rule.handles_predicate:
            return step
        predicate = self.registers.reader(instruction.predicate, "pred")
        negated = instruction.negated

        def guarded(lanes):
            active = lanes.where(~predicate if negated else predicate)
            if not active:
                return None
            outcome = step(active)
            if outcome is None:
                return None
            rest = lanes.mask & ~active.mask
            self.pc[rest] = self.current + 1
            if outcome >= 0:
                self.pc[active.mask] = outcome
            return RESCHEDULE

        return guarded

    # What steps use --------------------------------------------------------------------------------------------

    def exit(self, lanes):
        self.state[lanes.mask], self.polls = EXITED, 0
        self.lifetimes.exited(lanes)
        self.barriers.lanes_exited(lanes)
        return RESCHEDULE

    def wait(self, lanes):
        """Takes lanes out of the ready set; they continue after this instruction when woken."""
        self.pc[lanes.mask] = self.current + 1
        self.state[lanes.mask] = WAITING
        return RESCHEDULE

    def wake(self, mask):
        self.state[mask & (self.state == WAITING)] = READY

    def collective(self, lanes, members, execute):
        """Runs `execute(lanes)` for the warps whose `members` have all arrived; the other lanes are parked here."""
        present = lanes.mask.reshape(-1, 32)
        if isinstance(members, np.ndarray) and members.ndim:
            first = present.argmax(axis=1) + np.arange(len(present)) * 32
            bits = members[first]
        else:
            bits = np.full(len(present), members, dtype=np.uint32)
        if lanes.whole_warps and (bits[present[:, 0]] == 0xFFFFFFFF).all():
            return execute(lanes)
        needed = (bits[:, None] >> np.arange(32, dtype=np.uint32) & np.uint32(1)).astype(bool)
        needed &= (self.state != EXITED).reshape(-1, 32)
        if (
            strangers := present & ~(bits[:, None] >> np.arange(32, dtype=np.uint32) & np.uint32(1)).astype(bool)
        ).any():
            message = "a thread executes a warp-wide instruction whose member mask leaves it out (PTX ISA, membermask)"
            self.find("illegal-operand", message, int(np.flatnonzero(strangers)[0]), count=int(strangers.sum()))
        short = (needed & ~present).any(axis=1) & present.any(axis=1)
        if not short.any():
            return execute(lanes)
        parked = lanes.mask & np.repeat(short, 32)
        self.pc[parked], self.state[parked] = self.current, PARKED
        rest = lanes.where(~parked)
        if rest:
            self.pc[rest.mask] = self.current + 1
            outcome = execute(rest)
            if outcome is not None and outcome >= 0:
                self.pc[rest.mask] = outcome
        return RESCHEDULE

    def update_in_flight(self):
        """Collects the accumulators of unfinished wgmma: set of registers -> warps."""
        found = {}
        for warp, (open_group, committed) in self.wgmma_pending.items():
            for group in (open_group, *committed):
                for operation in group:
                    if operation[0] in found:
                        found[operation[0]].add(warp)
                    else:
                        found[operation[0]] = {warp}
        self.in_flight = found or None

    def _check_in_flight(self, pc, lanes):
        used = self.program.registers_of(pc)
        for names, warps in self.in_flight.items():
            if names.isdisjoint(used) or self.instructions[pc].opcode == "wgmma":
                continue
            if mine := warps.intersection(np.unique(lanes.index // 32).tolist()):
                name = sorted(names & used)[0]
                message = f"touches {name} while wgmma is still writing it; wgmma.wait_group is missing before it"
                self.find("accumulator-read-before-wait", message, min(mine) * 32)

    def identity(self, lane):
        """(CTA index, thread index) of a lane."""
        x, y, _ = self.launch.block
        thread = int(self.thread_of[lane])
        slot = int(self.slot_of[lane])
        cta = tuple(int(i) for i in self.ctas[slot]) if slot < len(self.ctas) else ()
        return cta, (thread % x, thread // x % y, thread // (x * y))

    def find(self, kind, message, lane=None, address=None, count=1, pc=None):
        """Reports a finding at the current (or given) instruction; repeats at one instruction are counted."""
        instruction = self.instructions[self.current if pc is None else pc]
        file, line = self.program.source(instruction.location)
        cta, thread = self.identity(lane) if lane is not None else ((), ())
        self.program.add_finding(
            self.report,
            Finding(kind, message, file, line, _shortened(instruction.text), cta, thread, address, count),
            self.current if pc is None else pc,
        )


def _shortened(text):
    """Instruction text without the middle of long register lists."""
    return re.sub(r"\{(%?[\w]+, )(?:[^{}]{60,})(, %?[\w]+)\}", r"{\1...\2}", text)
