"""Which trials a case goes through."""

import pytest
from kernel_harness.judge.outcome import Settings
from kernel_harness.judge.verification import verify

pytestmark = pytest.mark.cpu


def test_a_case_without_results_meets_no_hostile_values(tmp_path):
    """No value of nothing is wrong, and in the simulator each of forty takes as long as a call."""
    kernel = tmp_path / "kernel.py"
    kernel.write_text("""
import torch
def get_inputs(n=64): return [torch.randn(n, 3), torch.randn(3)]
def reference_fn(x, factor): return x * factor
def kernel_fn(x, factor): return factor * x
TEST_CASES = {"empty": {"n": 0}, "short": {"n": 3}}
""")

    outcome = verify(Settings(kernel=kernel, timeout=60))

    hostile = {row["case"] for row in outcome.comparisons if "hostile" in row["trial"]}
    assert not outcome.findings
    assert "short" in hostile
    assert "empty" in {row["case"] for row in outcome.comparisons} - hostile
