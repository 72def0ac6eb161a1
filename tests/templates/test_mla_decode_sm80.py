"""templates/mla_decode_sm80.py in the PTX simulator: ragged and empty sequences, one stretch and several merged."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile


def test_small_cases_are_right():
    command = [sys.executable, ROOT / "scripts" / "verify_kernel.py", ROOT / "templates" / "mla_decode_sm80.py"]
    options = ["--simulate", "--arch", "sm_80", "--level", "quick", "--format", "plain"]
    cases = ["--case", "tiny", "--case", "split"]

    run = subprocess.run([*command, *options, *cases], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "verdict=SIMULATED" in run.stdout.splitlines()[-1]
    assert run.stdout.count("ok=yes") == 2
