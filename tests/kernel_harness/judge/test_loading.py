"""The order in which a verification starts: what forks the workers imports PyTorch while the judge does."""

import subprocess
import sys
from pathlib import Path

import pytest
from kernel_harness.judge import case_choice, lanes, verification
from kernel_harness.judge.outcome import Outcome, Settings
from kernel_harness.processes import worker
from kernel_harness.verdict import ExitCode

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
pytestmark = pytest.mark.cpu

PROGRAM = """
import os, sys
from pathlib import Path
sys.path.insert(0, {scripts!r})
from kernel_harness.judge import startup, verification
from kernel_harness.processes import worker

class Nursery:
    def __init__(self, folder, modules):
        print("nursery", *modules, "torch" in sys.modules)
    def close(self):
        pass

class Recorded:
    def __init__(self, role, folder, nursery=None):
        self.role = role if nursery else "fresh " + role
    def send(self, op, **_):
        print(self.role, op)
    def receive(self, timeout):
        raise worker.WorkerDied("enough was seen", "", 1)
    def close(self):
        pass

worker.Worker, worker.start_nursery = Recorded, Nursery
exists, os.sched_getaffinity = os.path.exists, lambda _: range(16)
os.path.exists = lambda path: path == "/dev/nvidiactl" if path in startup.GPU_FILES else exists(path)
verification.verify(verification.Settings(kernel=Path({kernel!r}), level={level!r}))
"""


NURSERY, ORACLE, CANDIDATE = "nursery False", "oracle load", "candidate load"
CUTE = "import cutlass.cute"


@pytest.mark.parametrize(("device", "level", "more", "sent"), [
    ("cuda", "full", "", [NURSERY, ORACLE, CANDIDATE, "fresh candidate load"]),
    ("cuda", "quick", "", [NURSERY, ORACLE, CANDIDATE]),
    ("cuda", "quick", "TEST_CASES = {'other': {}}", [NURSERY, *(1 + lanes.SIDES) * [ORACLE, CANDIDATE]]),
    ("cuda", "quick", CUTE, ["nursery cutlass.cute False", ORACLE, CANDIDATE]),
    ("cuda", "quick", f"import os; os.environ['CUTE_DSL_ARCH'] = 'sm_90a'; {CUTE}", [NURSERY, ORACLE, CANDIDATE]),
    ("cpu", "full", CUTE, [NURSERY, ORACLE]),
    ("cpu", "full", "TEST_CASES = {'other': {}}", [NURSERY, ORACLE]),
])  # fmt: skip
def test_workers_have_the_file_as_soon_as_they_can_be_forked(device, level, more, sent, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(f"import torch\ndef get_inputs(): return [torch.ones(4, device={device!r})]\n"
                      f"def kernel_fn(x): return x + 1\ndef reference_fn(x): return 1 + x\n{more}\n")
    program = PROGRAM.format(scripts=str(SCRIPTS), kernel=str(kernel), level=level)

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert run.stdout.splitlines() == sent, run.stderr


MIB = 2**20


@pytest.mark.parametrize(("sizes", "thorough"), [
    ({"default": 6 * MIB, "other": 4 * MIB}, "default"),
    ({"default": 16 * MIB, "few": 12, "other": 4 * MIB, "more": 7 * MIB, "large": 300 * MIB}, "more"),
    ({"default": 16 * MIB, "few": 12, "other": MIB, "more": 20 * MIB}, "default"),
    ({"default": 256 * MIB, "few": 12, "other": MIB, "more": 40 * MIB, "large": 300 * MIB}, "more"),
    ({"default": 256 * MIB, "few": 12}, "default"),  # too few elements to find anything
    ({"default": 256 * MIB}, "default"),
], ids=["small", "middling", "beside small ones", "large", "large beside tiny ones", "large alone"])  # fmt: skip
def test_every_trial_is_made_on_a_case_of_moderate_size(sizes, thorough):
    assert case_choice.thorough(list(sizes), lambda cases: [sizes[case] for case in cases]) == thorough


@pytest.mark.parametrize(("what", "log", "check"), [
    ("importing the file", "torch.AcceleratorError: CUDA error: out of memory", "gpu-full"),
    ("importing the file", "Segmentation fault", "crash"),
    ("a call", "torch.AcceleratorError: CUDA error: out of memory", "crash"),
])  # fmt: skip
def test_a_gpu_that_others_have_filled_is_no_crash_of_the_kernel(what, log, check):
    judge = verification.Judge.__new__(verification.Judge)
    judge.outcome = Outcome(Settings(kernel=Path("kernel.py")))

    judge._died(what, worker.WorkerDied("it exited with code 1", log, 1))

    assert [found.check for found in judge.outcome.findings] == [check]
    assert judge.outcome.verdict is (ExitCode.UNDECIDED if check == "gpu-full" else ExitCode.CRASH)
