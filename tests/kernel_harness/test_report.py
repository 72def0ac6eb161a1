"""What a script says while it works."""

import pytest
from kernel_harness import report

pytestmark = pytest.mark.cpu


def test_a_log_hears_now_and_then_how_far_it_is(capsys, monkeypatch):
    clock = iter((0.0, 1.0, 16.0, 17.0, 40.0))
    monkeypatch.setattr(report.time, "monotonic", lambda: next(clock))
    progress = report.Progress()

    for case in ("a", "b", "c", "d"):
        progress.step(f"case {case}")
    progress.close()

    told = capsys.readouterr()
    assert told.err.splitlines() == ["[16 s] case b", "[40 s] case d"]
    assert told.out == ""
