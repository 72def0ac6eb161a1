"""The entry point: one launch of one kernel, from PTX text, launch parameters and memory to findings and counters."""

import itertools
from collections import deque
from dataclasses import dataclass

import numpy as np

from . import ptx
from .cluster_launch import CLUSTERS
from .decoys import BYTES, Decoys
from .findings import Finding, SimulationError, SimulationReport
from .global_races import GlobalRaces
from .legality import UNKNOWN, LaunchOptions, launch_problems
from .machine import Machine
from .parser import parse
from .wmma import piece_bytes

MAX_FINDINGS = 50
WAVE_LANES = 2048  # CTAs run together until they fill this many lanes
_WATCHING = {"acquire", "relaxed", "volatile", "mmio"}

@dataclass(frozen=True)
class Launch:
    grid: tuple
    block: tuple
    cluster: tuple
    shared_bytes: int
    parameters: tuple  # bytes per kernel parameter
    options: LaunchOptions = UNKNOWN
    turned: bool = False  # the last CTAs come first

    @property
    def threads_per_cta(self):
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def ctas_per_cluster(self):
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @staticmethod
    def parameter_offsets(kernel):
        """[(parameter, offset)] in the parameter space."""
        offset, result = 0, []
        for parameter in kernel.parameters:
            offset = -(-offset // parameter.align) * parameter.align
            result.append((parameter, offset))
            offset += parameter.nbytes
        return result

    def parameter_bytes(self, kernel):
        layout = self.parameter_offsets(kernel)
        data = bytearray(layout[-1][1] + layout[-1][0].nbytes + 16 if layout else 16)
        for (parameter, offset), value in zip(layout, self.parameters, strict=True):
            data[offset : offset + parameter.nbytes] = value
        return bytes(data)


def initialise(variable, data, addresses):
    """Writes the values that a module's variable is declared with. addresses: of the variables that they may name."""
    size = ptx.type_bytes(variable.element)
    for index, value in enumerate(variable.values):
        number = addresses.get(value[0], 0) + value[1] if isinstance(value, tuple) else value
        data[index * size : (index + 1) * size] = np.frombuffer(
            (number % (1 << 8 * size)).to_bytes(size, "little"), dtype=np.uint8
        )


class Program:
    """What a kernel needs before a launch: its variables' places, and the facts that the checks use."""

    def __init__(self, module, kernel, memory, launch):
        self.module, self.kernel = module, kernel
        self.shared_offsets, self.globals, offset = {}, {}, 0
        variables = {**module.variables, **kernel.variables}
        shared = [v for v in variables.values() if v.space == "shared"]
        for variable in [v for v in shared if v.nbytes]:
            offset = -(-offset // variable.align) * variable.align
            self.shared_offsets[variable.name] = offset
            offset += variable.nbytes
        for variable in [v for v in shared if not v.nbytes]:  # extern arrays share what the launch asks for
            offset = -(-offset // variable.align) * variable.align
            self.shared_offsets[variable.name] = offset
        self.static_shared_bytes, self.shared_bytes = offset, offset + launch.shared_bytes
        for variable in variables.values():
            if variable.space in ("global", "const"):
                self.globals[variable.name] = memory.allocate(
                    max(variable.nbytes, 1), variable.name, True, variable.align
                ).base
        for variable in variables.values():
            if variable.space in ("global", "const"):
                buffer = memory.find(self.globals[variable.name])
                if variable.name not in memory.variables:
                    initialise(variable, buffer.data, self.globals)
                buffer.data = memory.variables.setdefault(variable.name, buffer.data)
        self.shared_granule = self._granule()
        self.start()

    def start(self, decoys=None):
        """A launch begins."""
        self.global_races = GlobalRaces(self.kernel, decoys)
        self.tensor_maps = {}  # address of a map that the launch wrote -> clusters that acquired it since
        self._reported = {}
        self.ctas, self.waiting = [], deque()  # CTAs of the launch; the first one of each cluster that has not started

    def _granule(self):
        """Bytes per entry of the race record: the narrowest access that the kernel can make to shared memory."""
        smallest = 16
        for instruction in self.kernel.instructions:
            if instruction.opcode in ("ld", "st", "atom", "red") and not {"global", "param", "local", "const"} & set(
                instruction.modifiers
            ):
                kind = instruction.modifiers[-1]
                count = next((int(m[1]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)
                if instruction.opcode == "ld" and self.used_elements(instruction) != (0, count):
                    count = 1
                smallest = min(smallest, count * ptx.type_bytes(kind) if kind[-1].isdigit() else 1)
            elif instruction.opcode == "cp" and len(instruction.operands) > 2 and "bulk" not in instruction.modifiers:
                smallest = min(smallest, getattr(instruction.operands[2], "value", 16))
            elif instruction.opcode == "wmma":
                smallest = min(smallest, piece_bytes(instruction))
        return smallest

    def registers_of(self, pc):
        return self.kernel.registers_used[pc]

    def used_elements(self, instruction):
        """(first, last + 1) of the elements of a vector load that the kernel uses; all of them where that is unclear.

        The compiler widens three neighbouring loads to one of four: nobody waits for the element that nobody reads.
        """
        operands = instruction.operands
        targets = operands[0].items if operands and isinstance(operands[0], ptx.Vector) else ()
        if instruction.opcode != "ld" or not targets:
            return 0, max(1, len(targets))
        named = self.kernel.times_named
        used = [position for position, target in enumerate(targets) if named[target.name] > 1]
        return (used[0], used[-1] + 1) if used else (0, len(targets))

    def source(self, location):
        """(file, line) in the kernel author's code: the frame outside of an installed package where there is one."""
        if location is None or location.line == 0:
            return None, None
        file, line = self.module.files.get(location.file), location.line
        if location.inlined_at and file and "site-packages" in file:
            file, line = self.module.files.get(location.inlined_at[0]), location.inlined_at[1]
        return file, line

    def add_finding(self, report, finding, pc):
        key = (finding.kind, pc)
        if key in self._reported:
            self._reported[key].count += finding.count
        elif len(report.findings) < MAX_FINDINGS:
            self._reported[key] = finding
            report.findings.append(finding)


def _takes_turns(kernel):
    """Does an atomic on global memory return what it found there, and no load watch memory?"""
    there = [i for i in kernel.instructions if not any(m.startswith("shared") for m in i.modifiers)]
    watches = any(i.opcode == "ld" and not _WATCHING.isdisjoint(i.modifiers) for i in there)
    return not watches and any(i.opcode == "atom" for i in there)


def _refused(program, launch, report):
    """Would the driver refuse this launch? Then the report says why, at the kernel's first line."""
    first = next((i for i in program.kernel.instructions if program.source(i.location)[1]), None)
    file, line = program.source(first.location) if first else (None, None)
    for problem in launch_problems(program.module, program.kernel, launch, program.static_shared_bytes, launch.options):
        report.findings.append(Finding("illegal-launch", problem, file, line, program.kernel.name, (), ()))
    return bool(report.findings)


def simulate(
    ptx_text,
    kernel,
    grid,
    block,
    cluster,
    shared_bytes,
    params,
    memory,
    profile=None,
    wave_lanes=WAVE_LANES,
    options=None,
    turned=False,
):
    """Runs one launch to its end and returns a SimulationReport; `memory` is changed in place.

    kernel: entry name, or None when the module has one entry. grid, block, cluster: (x, y, z). shared_bytes: dynamic
    shared memory. params: one bytes-like value per kernel parameter, at least as long as the parameter. profile: a
    Profile that collects counters per source line. wave_lanes: threads that run together, in whole CTAs; CTAs that
    wait for each other must fit. options: LaunchOptions. turned: the CTAs start in the opposite order, which hardware
    leaves open. A launch that the driver would refuse is reported as illegal-launch and not run. Raises
    UnsupportedInstruction when the kernel reaches what is not implemented, PtxSyntaxError, or SimulationError.
    """
    module = parse(ptx_text)
    if kernel is None:
        (kernel,) = module.kernels
    entry = module.kernels[kernel]
    if len(params) != len(entry.parameters):
        raise SimulationError(f"kernel {kernel} takes {len(entry.parameters)} parameters, not {len(params)}")
    launch = Launch(
        tuple(grid),
        tuple(block),
        tuple(cluster),
        shared_bytes,
        tuple(bytes(value)[: parameter.nbytes] for value, parameter in zip(params, entry.parameters, strict=True)),
        options or UNKNOWN,
        turned,
    )
    report = SimulationReport(kernel, module.target)
    report.counters["ctas"] = launch.grid[0] * launch.grid[1] * launch.grid[2]
    report.takes_turns = report.counters["ctas"] > 1 and _takes_turns(entry)
    program = Program(module, entry, memory, launch)
    if _refused(program, launch, report):
        return report
    with np.errstate(all="ignore"):
        before = memory.snapshot() if program.global_races.active else None
        finished = _run(program, launch, memory, report, profile, wave_lanes)
        if finished and before and program.global_races.levels:
            report = _without_idle_reads(program, launch, memory, report, wave_lanes, before)
    return report


def _without_idle_reads(program, launch, memory, report, wave_lanes, before):
    """The report without the races of reads that make no difference, as decoys.py explains; else as it is."""
    after, counters, decoys = memory.snapshot(), {"ctas": report.counters["ctas"]}, Decoys()

    def ends_alike(byte):
        nonlocal again
        decoys.byte, again = byte, SimulationReport(report.kernel, report.target, counters=dict(counters))
        before.restore()
        program.start(decoys)
        try:
            _run(program, launch, memory, again, None, wave_lanes)
        except SimulationError:
            return False  # an address or an instruction to which no right value leads
        return _all_but_races(again) == _all_but_races(report) and after.still_holds()

    again, (first, *others) = None, BYTES
    while decoys.add(program.global_races):  # nearer ones may show when those that are far apart are gone
        if not ends_alike(first):
            break
    else:
        if all(map(ends_alike, others)):
            return again
    after.restore()
    return report


def _all_but_races(report):
    findings = [(found.kind, found.instruction, found.count) for found in report.findings if found.kind != "race"]
    return findings, report.output


def _run(program, launch, memory, report, profile, wave_lanes):
    """True when the launch ran to its end."""
    ctas = _cta_order(launch)
    lanes_per_cta = -(-launch.threads_per_cta // 32) * 32
    per_cluster = launch.ctas_per_cluster
    clusters = max(1, min(wave_lanes // (lanes_per_cta * per_cluster), len(ctas) // per_cluster))
    if any(instruction.opcode == "clusterlaunchcontrol" for instruction in program.kernel.instructions):
        clusters = min(clusters, CLUSTERS)
    machine = Machine(program, launch, memory, report, clusters * per_cluster, profile)
    program.ctas, waiting = ctas, program.waiting
    waiting.extend(range(0, len(ctas), per_cluster))
    while waiting:
        first = waiting[0]
        last = [waiting.popleft() for _ in range(min(clusters, len(waiting)))][-1]
        machine.start(ctas[first : last + per_cluster], first, not waiting)
        machine.run()
        if machine.trapped:
            return False
    return True


def _cta_order(launch):
    """CTA indices, the CTAs of a cluster together in rank order, x fastest unless the launch is turned."""
    cx, cy, cz = launch.cluster
    gx, gy, gz = (g // c for g, c in zip(launch.grid, launch.cluster, strict=True))
    order, clusters = [], list(itertools.product(range(gz), range(gy), range(gx)))
    for z, y, x in clusters[::-1] if launch.turned else clusters:
        for k, j, i in itertools.product(range(cz), range(cy), range(cx)):
            order.append((x * cx + i, y * cy + j, z * cz + k))
    return order
