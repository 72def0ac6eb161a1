"""compute-sanitizer over a kernel file: memcheck and initcheck decide, racecheck advises (standard library only).

The allocator's cache is off, so that an access past a tensor is not inside a larger block. racecheck also reports
bulk copies that an mbarrier orders (cp.async.bulk in dynamic loops): a place to look, no verdict.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

DECISIVE, ADVISORY = ("memcheck", "initcheck"), ("racecheck",)
SUMMARY = {
    "memcheck": r"ERROR SUMMARY: (\d+) error",
    "initcheck": r"ERROR SUMMARY: (\d+) error",
    "racecheck": r"RACECHECK SUMMARY: (\d+) hazard",
}
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
from kernel_harness.contract import load_kernel
kernel = load_kernel(sys.argv[2])
kernel.kernel_fn(*kernel.get_inputs(**kernel.cases[sys.argv[3]]))
torch.cuda.synchronize()
"""


@dataclass(frozen=True)
class Outcome:
    """What one tool said. errors is None when it gave no summary: then nothing is known, and ``text`` says why."""

    tool: str
    case: str
    errors: int | None
    text: str

    @property
    def decides(self) -> bool:
        return self.tool in DECISIVE


def find() -> str | None:
    """The compute-sanitizer program: on PATH or beside a CUDA toolkit."""
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def run(program: str, kernel: Path, case: str, timeout: float) -> list[Outcome]:
    """Each tool once over one call of kernel_fn on ``case``; ``timeout`` in seconds, for each."""
    return [_run(program, tool, kernel, case, timeout) for tool in (*DECISIVE, *ADVISORY)]


def _run(program: str, tool: str, kernel: Path, case: str, timeout: float) -> Outcome:
    scripts = str(Path(__file__).resolve().parents[1])
    target = [sys.executable, "-c", PROGRAM, scripts, str(kernel.absolute()), case]
    command = [program, "--tool", tool, "--print-limit", "5", *target]
    environ = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environ)
    except subprocess.TimeoutExpired:
        return Outcome(tool, case, None, f"{tool} gave no answer within {timeout:g} s")
    text = ended.stdout + ended.stderr
    found = re.search(SUMMARY[tool], text)
    if not found:
        sentence = f"{tool} ended without a summary (exit code {ended.returncode}): {text[-400:]}"
        return Outcome(tool, case, None, sentence)
    lines = [line.removeprefix("=========").strip() for line in text.splitlines() if line.startswith("=========")]
    first = next((line for line in lines if re.search(r"Invalid|Uninitialized|hazard|Misaligned|leak", line)), "")
    return Outcome(tool, case, int(found.group(1)), first)
