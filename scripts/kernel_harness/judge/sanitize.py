"""compute-sanitizer over a kernel file: memcheck and initcheck decide, racecheck and synccheck advise (stdlib only).

The allocator's cache is off, so that an access past a tensor is not inside a larger block. racecheck also reports
bulk copies that an mbarrier orders (cp.async.bulk in dynamic loops): a place to look, no verdict. API calls that fail
are not counted: PyTorch and the DSLs make some on purpose, to ask what the driver can do. initcheck does not see what
bulk copies (TMA) write to global memory and takes all of it for uninitialised: it advises only where there are any.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from ..processes.worker import run_tree

DECISIVE, ADVISORY = ("memcheck", "initcheck"), ("racecheck", "synccheck")
ERRORS, HAZARDS = r"ERROR SUMMARY: (\d+) error", r"RACECHECK SUMMARY: (\d+) hazard"
BULK_STORE = re.compile(r"cp(\.reduce)?\.async\.bulk\S*\.global\.shared")  # in PTX
QUOTED = re.compile(r"Invalid|Uninitialized|Misaligned|hazard|Race reported|Barrier error|leak", re.IGNORECASE)
RETURNED, UNUSED = "kernel_fn has returned", "kernel_fn has used no GPU"
PROGRAM = f"""
import sys
sys.path.insert(0, sys.argv[1])
import torch
from kernel_harness.contract import load_kernel
kernel = load_kernel(sys.argv[2])
cases = {{**kernel.bench_cases, **kernel.cases}}
kernel.kernel_fn(*kernel.get_inputs(**cases[sys.argv[3]]))
used = torch.cuda.is_initialized()
if used:
    torch.cuda.synchronize()
print("\\n{RETURNED}" if used else "\\n{UNUSED}", flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """What one tool said. errors is None when it gave no summary: then nothing is known, and ``text`` says why.

    bulk_stores: the kernels write global memory with bulk copies, as far as their PTX was kept.
    """

    tool: str
    case: str
    errors: int | None
    text: str
    bulk_stores: bool = False

    @property
    def decides(self) -> bool:
        return self.tool in DECISIVE and not (self.tool == "initcheck" and self.errors and self.bulk_stores)


def find() -> str | None:
    """The compute-sanitizer program: on PATH or in a CUDA toolkit."""
    homes = [os.environ.get("CUDA_HOME", "/usr/local/cuda"), *sorted(glob.glob("/usr/local/cuda*"), reverse=True)]
    folders = [f"{home}/{folder}" for home in homes for folder in ("bin", "compute-sanitizer")]
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=os.pathsep.join(folders))


def run(program: str, kernel: Path, case: str, timeout: float) -> list[Outcome]:
    """Each tool once over one call of kernel_fn on ``case``; ``timeout`` in seconds, for each."""
    return [_run(program, tool, kernel, case, timeout) for tool in (*DECISIVE, *ADVISORY)]


def _run(program: str, tool: str, kernel: Path, case: str, timeout: float) -> Outcome:
    scripts = str(Path(__file__).resolve().parents[2])
    target = [sys.executable, "-c", PROGRAM, scripts, str(kernel.absolute()), case]
    command = [program, "--tool", tool, "--print-limit", "5", "--report-api-errors", "no", *target]
    with tempfile.TemporaryDirectory() as kept:
        environ = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "CUTE_DSL_KEEP": "ptx",
                   "CUTE_DSL_DUMP_DIR": kept, "TRITON_CACHE_DIR": kept}
        code, text = run_tree(command, timeout, environ)
        codes = [path.read_text(errors="replace") for path in (kernel, *Path(kept).rglob("*.ptx"))]
    if code is None:
        return Outcome(tool, case, None, f"{tool} gave no answer within {timeout:g} s")
    return replace(_read(tool, case, text, code), bulk_stores=any(map(BULK_STORE.search, codes)))


def _read(tool: str, case: str, text: str, code: int) -> Outcome:
    """What the tool's and the program's output says; a summary counts only when kernel_fn ran to its end."""
    found = re.search(HAZARDS if tool == "racecheck" else ERRORS, text)
    if not found:
        return Outcome(tool, case, None, f"{tool} ended without a summary (exit code {code}): {text.strip()[-400:]}")
    errors = int(found.group(1))
    if not errors and RETURNED not in text:
        why = UNUSED if UNUSED in text else f"kernel_fn did not return: {text.strip()[-400:]}"
        return Outcome(tool, case, None, f"{tool} checked nothing, {why}")
    lines = [line.removeprefix("=========").strip() for line in text.splitlines() if line.startswith("=========")]
    first = next((line for line in lines if QUOTED.search(line) and "SUMMARY" not in line), "")
    return Outcome(tool, case, errors, first)
