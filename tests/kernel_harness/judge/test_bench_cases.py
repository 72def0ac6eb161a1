"""How often a BENCH_CASE is called on the CPU: once where its inputs or what comes of them are large."""

import pytest
from kernel_harness.judge import verification

pytestmark = pytest.mark.cpu

FILE = """
import torch
def get_inputs(n=8): return [torch.randn(n)]
def reference_fn(x): return x[:, None] * x
def kernel_fn(x): return torch.outer(x, x)
BENCH_CASES = {"short": {"n": 64}, "long": {"n": 2100}}
"""


def test_a_bench_case_of_large_results_is_called_once(tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(FILE)
    outcome = verification.verify(verification.Settings(kernel=kernel))

    assert not outcome.findings
    trials = {name: [row["trial"] for row in outcome.comparisons if row["case"] == name] for name in ("short", "long")}
    assert trials["long"] == ["first inputs"]
    assert len(trials["short"]) > 1
