"""Nsight Compute around one call of a kernel file, its metrics under plain names, and what they mean (stdlib only).

Sections are asked for rather than single metrics: their content follows the GPU, and a metric that one architecture
lacks is then absent instead of an error.
"""

from __future__ import annotations

import csv
import glob
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..processes.worker import run_tree

SECTIONS = ("SpeedOfLight", "MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Chart", "MemoryWorkloadAnalysis_Tables",
            "ComputeWorkloadAnalysis", "Occupancy", "LaunchStats", "WarpStateStats", "SchedulerStats")
BOOTSTRAP = ("import sys; sys.path.insert(0, sys.argv.pop(1)); from kernel_harness.performance import profile_target; "
             "profile_target.main(*sys.argv[1:3], 1, *sys.argv[3:])")
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
METRICS = {   # plain name: (ncu's names, the first that is there counts; factor to the plain name's unit)
    "duration_us": (("gpu__time_duration.sum",), 1e-3),
    "sm_percent": (("sm__throughput.avg.pct_of_peak_sustained_elapsed",), 1),
    "memory_percent": (("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",), 1),
    "dram_percent": (("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                      "dram__throughput.avg.pct_of_peak_sustained_elapsed"), 1),
    "tensor_percent": (("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"), 1),
    "dram_read_bytes": (("dram__bytes_read.sum",), 1),
    "dram_write_bytes": (("dram__bytes_write.sum",), 1),
    "l2_hit_percent": (("lts__t_sector_hit_rate.pct",), 1),
    "occupancy_percent": (("sm__warps_active.avg.pct_of_peak_sustained_active",), 1),
    "occupancy_limit_percent": (("sm__maximum_warps_per_active_cycle_pct",), 1),
    "issue_percent": (("smsp__issue_active.avg.pct_of_peak_sustained_active",), 1),
    "registers": (("launch__registers_per_thread",), 1),
    "shared_bytes": (("launch__shared_mem_per_block",), 1),
    "waves": (("launch__waves_per_multiprocessor",), 1),
    "grid": (("launch__grid_size",), 1),
    "block": (("launch__block_size",), 1),
    "bank_conflicts": (("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",), 1),
    "shared_wavefronts": (("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",), 1),
}
HOW_TO_GET_NCU = ("Nsight Compute (ncu) is not on the PATH: it is part of the CUDA toolkit (/usr/local/cuda/bin), or "
                  "install the package cuda-nsight-compute; reading counters may need root or "
                  "NVreg_RestrictProfilingToAdminUsers=0")


class ProfilerFailed(RuntimeError):
    """ncu ran and brought no metrics; one sentence, then the end of its log."""


@dataclass(frozen=True)
class Diagnosis:
    """One thing that the metrics say: what, the evidence in numbers, the page that says what to do."""

    what: str
    evidence: str
    page: str


def find_ncu() -> str | None:
    """The path of ncu, None when it is not installed."""
    places = ["/usr/local/cuda/bin/ncu", *sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"), reverse=True)]
    return shutil.which("ncu") or next((place for place in places if Path(place).exists()), None)


def collect(ncu: str, file: Path, case: str, subject: str, timeout_s: float, inputs_of: Path) -> list[dict]:
    """The kernels of one call on inputs of the kernel file ``inputs_of``.

    Each is {"name", "stalls": {reason: warps}, plain metric names...}.
    """
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off",
               "--clock-control", "none", "--target-processes", "all",
               *(part for section in SECTIONS for part in ("--section", section)),
               sys.executable, "-c", BOOTSTRAP, str(Path(__file__).resolve().parents[2]), str(file.absolute()), case,
               subject, str(inputs_of.absolute())]
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        log = Path(folder, "ncu.csv")   # apart from what the kernel file prints
        command[1:1] = ["--log-file", str(log)]
        code, printed = run_tree(command, timeout_s)
        if code is None:
            raise ProfilerFailed(f"ncu gave no answer within {timeout_s:g} s: profile a smaller case")
        text = log.read_text() if log.exists() else ""
    kernels = parse(text)
    if not kernels:
        end = "\n".join((text + printed).strip().splitlines()[-12:])
        hint = " (run as root, or set NVreg_RestrictProfilingToAdminUsers=0)" if "ERR_NVGPUCTRPERM" in end else ""
        raise ProfilerFailed(f"ncu brought no metrics{hint}\n{end}")
    return kernels


def parse(text: str) -> list[dict]:
    """Kernels from ncu's raw CSV page; lines of the profiled program and of ncu itself are passed over."""
    rows = list(csv.reader(io.StringIO("\n".join(line for line in text.splitlines() if line.startswith('"')))))
    header = next((index for index, row in enumerate(rows) if "Kernel Name" in row), None)
    if header is None:
        return []
    names = rows[header]
    kernels = []
    for row in rows[header + 2:]:   # the row between names the units, which are the base units
        if len(row) == len(names):
            kernels.append(_plain(dict(zip(names, row, strict=True))))
    return kernels


def _plain(raw: Mapping[str, str]) -> dict:
    kernel: dict = {"name": raw["Kernel Name"]}
    for plain, (candidates, factor) in METRICS.items():
        value = next((number for name in candidates if (number := _number(raw.get(name))) is not None), None)
        kernel[plain] = None if value is None else value * factor
    stalls = {match.group(1): _number(value) for name, value in raw.items() if (match := STALL.fullmatch(name))}
    kernel["stalls"] = {reason: warps for reason, warps in stalls.items() if warps}
    return kernel


def _number(text: str | None) -> float | None:
    try:
        return float(text.replace(",", ""))
    except (ValueError, AttributeError):
        return None


SLOW_PATHS = 4  # calls: of one or two nothing is to be gained
STALLS = {   # reason: (what the warps wait for, page)
    "long_scoreboard": ("data from global memory: more loads in flight, or a deeper pipeline", "memory"),
    "short_scoreboard": ("shared memory or the special-function unit", "memory"),
    "barrier": ("other warps at a barrier: fewer or narrower barriers", "pipelines"),
    "math_pipe_throttle": ("a busy arithmetic pipe: fewer or cheaper instructions", "mma-atoms"),
    "lg_throttle": ("the queue of global accesses: wider accesses, fewer of them", "memory"),
    "mio_throttle": ("the shared-memory queue: wider shared accesses, ldmatrix", "memory"),
    "gmma": ("tensor-core results: more independent products in flight", "mma-atoms"),
    "membar": ("a memory fence", "pipelines"),
    "no_instruction": ("instruction fetch: the loop is unrolled too far", "control-flow"),
    "branch_resolving": ("branches", "control-flow"),
    "drain": ("stores to leave at the end of the kernel", "epilogues"),
    "sleeping": ("a sleep or a spin on a barrier that is long in coming", "pipelines"),
}


def diagnose(kernel: Mapping, compulsory_bytes: float | None = None, sm_count: int | None = None) -> list[Diagnosis]:
    """What the metrics of one kernel say, most telling first. compulsory_bytes: the least that the call must move."""
    get = lambda name: kernel.get(name) or 0.0
    found = []

    def say(what: str, evidence: str, page: str) -> None:
        found.append(Diagnosis(what, evidence, f"references/{page}.md"))

    moved = get("dram_read_bytes") + get("dram_write_bytes")
    at_memory, at_tensor = get("dram_percent") >= 75, get("tensor_percent") >= 70
    if compulsory_bytes and moved > 1.25 * compulsory_bytes and get("dram_percent") > 30:
        say("it moves more bytes than it must: data is read again, or whole sectors for parts of them",
            f"{moved:,.0f} bytes of DRAM traffic against {compulsory_bytes:,.0f}", "memory")
    if at_memory:
        say("it is at the memory limit: only fewer bytes make it faster", f"DRAM at {get('dram_percent'):.0f} %",
            "elementwise")
    if at_tensor:
        say("it is at the compute limit: the tensor cores are busy", f"tensor pipe at {get('tensor_percent'):.0f} %",
            "mma-atoms")
    if sm_count and 0 < get("grid") < sm_count:
        say("the grid does not fill the GPU: split the work finer",
            f"{get('grid'):.0f} blocks for {sm_count} multiprocessors", "architectures")
    elif 1 < get("waves") < 4 and 0 < get("waves") % 1 < 0.5:
        say("the last wave leaves multiprocessors idle: other tiles, or a persistent grid",
            f"{get('waves'):.2f} waves", "architectures")
    if get("bank_conflicts") > 0.15 * get("shared_wavefronts") > 0:
        share = 100 * get("bank_conflicts") / get("shared_wavefronts")
        say("shared-memory bank conflicts: swizzle the layout", f"{share:.0f} % of the wavefronts are conflicts",
            "layouts")
    if 0 < get("occupancy_limit_percent") < 50 and not at_memory and not at_tensor:
        say("few warps fit a multiprocessor, and nothing else is at its limit",
            f"occupancy at most {get('occupancy_limit_percent'):.0f} %: {get('registers'):.0f} registers a thread, "
            f"{get('shared_bytes'):,.0f} bytes of shared memory a block", "architectures")
    stalls = sorted((kernel.get("stalls") or {}).items(), key=lambda item: -item[1])
    reason = next((reason for reason, _ in stalls if reason in STALLS), None)
    if reason and not at_memory and not at_tensor:
        share = 100 * kernel["stalls"][reason] / sum(warps for _, warps in stalls)
        say(f"warps wait mostly for {STALLS[reason][0]}", f"stall {reason}: {share:.0f} % of the waiting",
            STALLS[reason][1])
    if 0 < get("duration_us") < 5:
        say("it is so short that launching it matters: fuse it with its neighbours", f"{get('duration_us'):.2f} us",
            "benchmarking")
    return found


def diagnose_code(kernel: Mapping) -> list[Diagnosis]:
    """What the compiled code of one kernel says, as inspect_kernel.py describes it; nothing of it was timed."""
    found = []
    if kernel["spill_bytes"]:
        found.append(Diagnosis("it spills registers: keep fewer values alive, or give a thread more registers",
                               f"{kernel['spill_bytes']} bytes a thread, {kernel['registers']} registers",
                               "references/lowering.md"))
    few = [one for one in kernel["occupancy"] if one["blocks"] and one["fraction"] < 0.25]
    uses_tensor_cores = bool((kernel["families"] or {}).get("tensor core"))
    if few and not uses_tensor_cores:   # few large CTAs are how tensor-core kernels are built
        found.append(Diagnosis(f"few warps fit a multiprocessor, limited by {few[0]['limited_by']}",
                               f"{few[0]['warps']} warps on {few[0]['device']}, {100 * few[0]['fraction']:.0f} %",
                               "references/architectures.md"))
    widths = {int(access.partition(".")[2]): count for access, count in (kernel["ptx_global"] or {}).items()
              if access.startswith("ld.")}
    if widths and max(widths) < 64 and not (kernel["families"] or {}).get("TMA"):
        found.append(Diagnosis("no global load is wider than 32 bits: vectors move as much in fewer instructions",
                               ", ".join(f"{count} loads of {bits} bits" for bits, count in sorted(widths.items())),
                               "references/memory.md"))
    calls = sum(count for name, count in (kernel["sass"] or {}).items() if name.startswith("CALL"))
    if calls >= SLOW_PATHS:
        found.append(Diagnosis("each quotient, reciprocal or root has a branch around a slow path: one after the other",
                               f"{calls} calls in the code, run or not; PTX counts such a quotient as one instruction",
                               "references/elementwise.md"))
    return found
