"""The elementwise examples are right on one small case for each code path: in the simulator, or on a GPU."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile

CASES = {
    "gelu.py": ["none forward n=1031", "tanh backward n=1031", "misaligned"],
}


@pytest.mark.parametrize("example", CASES)
def test_the_example_is_right(example):
    script, cases = ROOT / "scripts" / "verify_kernel.py", [word for case in CASES[example] for word in ("--case", case)]
    command = [sys.executable, script, ROOT / "examples" / example, "--level", "quick", "--arch", "sm_90a", *cases]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "ok=yes" in run.stdout
