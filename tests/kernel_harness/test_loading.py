"""The order in which a verification starts: every process has its file before the judge imports torch."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
pytestmark = pytest.mark.cpu

PROGRAM = """
import os, sys
from pathlib import Path
sys.path.insert(0, {scripts!r})
from kernel_harness import verification, worker

class Recorded:
    def __init__(self, role, folder):
        self.role = role
    def send(self, op, **_):
        print(self.role, op, "torch" in sys.modules)
    def receive(self, timeout):
        raise worker.WorkerDied("enough was seen", "", 1)
    def close(self):
        pass

worker.Worker = Recorded
exists, os.cpu_count = os.path.exists, lambda: 16
os.path.exists = lambda path: path == "/dev/nvidiactl" if path in verification.GPU_FILES else exists(path)
verification.verify(verification.Settings(kernel=Path({kernel!r}), level={level!r}))
"""


@pytest.mark.parametrize(("device", "level", "sent"), [
    ("cuda", "full", ["oracle load False", "candidate load False", "candidate load False"]),
    ("cuda", "quick", ["oracle load False", "candidate load False"]),
    ("cpu", "full", ["oracle load False"]),
])  # fmt: skip
def test_the_file_is_sent_before_torch_is_imported(device, level, sent, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(f"import torch\ndef get_inputs(): return [torch.ones(4, device={device!r})]\n"
                      "def kernel_fn(x): return x + 1\ndef reference_fn(x): return 1 + x\n")
    program = PROGRAM.format(scripts=str(SCRIPTS), kernel=str(kernel), level=level)

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert run.stdout.splitlines() == sent, run.stderr
