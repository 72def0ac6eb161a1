"""What the judge tells without deciding by it, and where it decides."""

from pathlib import Path

import pytest
from kernel_harness.judge.outcome import Settings
from kernel_harness.judge.verification import verify
from kernel_harness.verdict import ExitCode

KERNELS = Path(__file__).parents[2] / "kernels"
pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("level", "code"), [("full", ExitCode.PASS), ("paranoid", ExitCode.WRONG_RESULT)])
def test_a_size_without_the_divisor_of_all_cases_is_advice_below_paranoid(level, code):
    outcome = verify(Settings(kernel=KERNELS / "honest/whole_groups_of_32.py", level=level, timeout=60))

    assert outcome.verdict is code, [str(f) for f in outcome.findings]
    assert any("columns=223" in note and "no case is like it" in note for note in outcome.notes) == (level == "full")
    assert {f.check for f in outcome.findings} == (set() if level == "full" else {"unlike-sizes"})


def test_a_note_says_where_nan_leaks():
    outcome = verify(Settings(kernel=KERNELS / "cheats/d5_running_sums_of_segments.py", timeout=60))

    assert any("does NaN leak there?" in note for note in outcome.notes)
