"""What a GPU forgives: while a file is verified on one, its small cases run in the PTX simulator, in a process beside;
where the file asks how many multiprocessors there are in another, too, which claims few: there each CTA gets several
tiles, and a buffer is used again.

A missing barrier, fence or wait may go well in every call of a verification; the simulator sees it in each. What it
finds of order and memory decides, and so does a result that hangs on which CTA comes first. Its values do not, the GPU
has the last word on those; and conflicts over global memory, some of which are meant, are a note, unless atomics show
that an order was meant, and give none, or a launch that changes its inputs reads what another CTA changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ..contract import read_source
from ..processes import worker
from ..verdict import ExitCode
from .findings import Finding
from .outcome import Outcome, Settings
from .startup import may_use_gpu
from .unjudged_code import asks_for_multiprocessors, few_multiprocessors

SCRIPT = Path(__file__).resolve().parents[2] / "verify_kernel.py"
PATIENCE_SECONDS = 15.0  # after the trials on the GPU; half of what those took on a busy machine
LATE_SECONDS = 60.0  # of a look that began only then
OURS = "kernel_cutlass_"  # begins the name of what CuTe DSL compiles
CHECKS = ("simulation", "cta-order")
DECISIVE = ("shared memory", "tensor memory", "relaxed atomics order nothing")  # races, by what their text says
IN_PLACE = "which another CTA reads in the same launch"  # decides where inputs are changed: what was theirs is gone


def is_worth_it(settings: Settings) -> bool:
    """Is the file verified on a GPU, at more than quick, and are barriers its own business? Triton sets its own (and
    3.6 leaves a fence out: tests/kernels/honest/triton_split_k.py), but not the order of programs that work in place;
    an extension in C++ takes minutes to build."""
    source = read_source(settings.kernel)[0]
    is_its_own = "cutlass" in source or ("triton" in source and changes_inputs(settings))
    return settings.level != "quick" and is_its_own and may_use_gpu(settings)


def changes_inputs(settings: Settings) -> bool:
    return "MUTATES" in read_source(settings.kernel)[0]


def is_owed(outcome: Outcome) -> bool:
    """Were kernels of CuTe DSL launched by a file that does not name it, as it imports them from another?"""
    kernels = outcome.facts.get("kernels") or ()
    return outcome.settings.level != "quick" and any(kernel["name"].startswith(OURS) for kernel in kernels)


class SecondLook:
    """A simulated verification that begins at once; ``add_to`` takes in what it saw, leaving the context ends it.

    patience: seconds that add_to waits. multiprocessors: of the GPU that is claimed; 0: as many as a large one has, and
    where the file asks for them there is one of few beside it.
    """

    def __init__(self, settings: Settings, patience: float = PATIENCE_SECONDS, multiprocessors: int = 0):
        self.patience, self.multiprocessors, self.of_few = patience, multiprocessors, None
        self.decisive = (*DECISIVE, IN_PLACE) if changes_inputs(settings) else DECISIVE
        if not multiprocessors and asks_for_multiprocessors(settings.kernel):
            self.of_few = SecondLook(settings, patience, few_multiprocessors(settings.kernel, []))
        self.started, self.kernels = time.monotonic(), []  # what was compiled for the file's ARCHS: facts of each
        self.folder = tempfile.TemporaryDirectory(prefix="second-look-", ignore_cleanup_errors=True)
        self.document, self.log = (Path(self.folder.name, name) for name in ("simulated.json", "log"))
        reference = ("--reference", settings.reference) if settings.reference else ()
        cases = [word for case in settings.cases for word in ("--case", case)]
        command = [sys.executable, SCRIPT, settings.kernel, "--simulate", "--level", "quick", *reference, *cases]
        command += ["--multiprocessors", multiprocessors] if multiprocessors else []
        with open(self.document, "wb") as document, open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*map(str, command), "--format", "json"], stdin=subprocess.DEVNULL, stdout=document,
                stderr=log, start_new_session=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
            )
        worker.spare(self.process.pid)

    def add_to(self, outcome: Outcome) -> None:
        """Wait for the end and add what decides; a look that was not taken is a note."""
        document = self._result(max(self.patience, (time.monotonic() - self.started) / 2))
        self.kernels = document.get("compiled", {}).get("kernels", [])
        facts, reasons = document.get("facts", {}), document.get("reasons", ())
        seen = [reason for reason in reasons if reason["check"] in CHECKS]
        cases, seconds = facts.get("simulated_cases", []), round(time.monotonic() - self.started, 1)
        count = self.multiprocessors
        where = f", on a GPU of {count} multiprocessor{'s' if count > 1 else ''}" if count else ""
        if cases or seen:
            outcome.facts["second_look_of_few" if count else "second_look"] = {"seconds": seconds, "cases": cases}
        else:
            why = [*document.get("notes", ()), *(reason["text"] for reason in reasons)] or ["no case was simulated"]
            what = f"no second look in the simulator{where}, missing barriers may have gone well"
            outcome.note(f"{what}: {why[-1][:300]}")
        for reason in seen:
            text = f"On a GPU the results were right. In the simulator{where}: {reason['text']}"
            if ": race: " in reason["text"] and not any(words in reason["text"] for words in self.decisive):
                outcome.note(f"[case {reason['case']}] {text}")
            elif reason["check"] not in outcome.settings.without:
                outcome.findings.append(Finding(ExitCode(reason["exit_code"]), reason["check"], text, reason["case"]))
        if self.of_few and not outcome.findings:
            self.of_few.add_to(outcome)

    def _result(self, patience: float) -> dict:
        """The document of the verification, or one whose note says why there is none."""
        try:
            self.process.wait(patience)
            return json.loads(self.document.read_text())
        except subprocess.TimeoutExpired:
            waited = f"{time.monotonic() - self.started:.0f} s"
            return {"notes": [f"it was not done after {waited}; verify_kernel.py --simulate takes it alone"]}
        except ValueError:
            said = self.log.read_text(errors="replace").strip().splitlines() or [f"exit code {self.process.returncode}"]
            return {"notes": said[-1:]}

    def __enter__(self) -> SecondLook:
        return self

    def __exit__(self, *_) -> None:
        if self.of_few:
            self.of_few.__exit__()
        worker.kill_tree(self.process.pid)
        self.process.wait()
        self.folder.cleanup()
