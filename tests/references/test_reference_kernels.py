"""The kernels printed on the pages compute what they say: run in the PTX simulator, against PyTorch."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.compile

SCRIPT = Path(__file__).with_name("simulate_block.py")
_spec = importlib.util.spec_from_file_location("simulate_block", SCRIPT)
simulate_block = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(simulate_block)


@pytest.mark.parametrize("run", simulate_block.RUNS, ids="-".join)
def test_kernel_of_the_page_is_right(run):
    """Its result is within bf16 rounding of the reference; no race, overrun or uninitialised read is seen."""
    done = subprocess.run([sys.executable, SCRIPT, *run], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr

    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["findings"] == []
    assert answer["launches"] > 0
    assert answer["error"] < 2**-8
