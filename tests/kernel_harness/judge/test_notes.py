"""What the judge tells without deciding by it, and where it decides."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from kernel_harness.compiled import capture, kernel_facts
from kernel_harness.judge import unjudged_code
from kernel_harness.judge.outcome import Outcome, Settings
from kernel_harness.judge.trials import CaseTrials
from kernel_harness.judge.verification import Judge, verify
from kernel_harness.verdict import ExitCode

KERNELS = Path(__file__).parents[2] / "kernels"
pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("level", "code"), [("full", ExitCode.PASS), ("paranoid", ExitCode.WRONG_RESULT)])
def test_a_size_without_the_divisor_of_all_cases_is_advice_below_paranoid(level, code):
    outcome = verify(Settings(kernel=KERNELS / "honest/whole_groups_of_32.py", level=level, timeout=60))

    assert outcome.verdict is code, [str(f) for f in outcome.findings]
    assert any("columns=223" in note and "no case is like it" in note for note in outcome.notes) == (level == "full")
    assert {f.check for f in outcome.findings} == (set() if level == "full" else {"uneven-sizes"})


def test_a_note_says_where_nan_leaks():
    outcome = verify(Settings(kernel=KERNELS / "cheats/d5_running_sums_of_segments.py", timeout=60))

    assert any("does NaN leak there?" in note for note in outcome.notes)


def test_a_finding_has_no_colours():
    """CuTe DSL's errors come with them, on a terminal or not."""
    outcome = Outcome(Settings(kernel=Path("kernel.py")))
    outcome.add("crash", "\x1b[91m\x1b[1merror[PHASE_REQUIRES_CONSTANT]:\x1b[0m const_expr()")

    assert "error[PHASE_REQUIRES_CONSTANT]: const_expr()" in str(outcome.findings[0])
    assert "\x1b" not in str(outcome.findings[0])


@pytest.mark.parametrize(("cluster", "says", "count"), [(None, "", 1), ([1, 1, 1], "", 1), ([2, 1, 1], "", 8),
                                                       (None, "    # cluster=(2, 1, 1) if m > 512", 8)])  # fmt: skip
def test_few_multiprocessors_are_one_or_those_of_the_largest_cluster(tmp_path, cluster, says, count):
    """The launches are those of the first case: another may be of clusters, as those of the GEMM template are."""
    kernels = [{"launches": [{"cluster": cluster}]}, {"launches": []}]
    (path := tmp_path / "kernel.py").write_text(f"def kernel_fn(x):\n{says}\n    return x\n")

    assert unjudged_code.few_multiprocessors(path, kernels) == count


def test_what_large_cases_spill_is_told(monkeypatch):
    """EXPECT is about the first case, which is small."""
    launches = [SimpleNamespace(case="large"), SimpleNamespace(case="larger")]
    kernel = SimpleNamespace(ptx=None, launches=launches)
    monkeypatch.setattr(capture, "capture", lambda *_: [SimpleNamespace(kernels=[kernel])])
    monkeypatch.setattr(kernel_facts, "labelled", lambda kernels, _: [SimpleNamespace(kernel=k) for k in kernels])
    monkeypatch.setattr(kernel_facts, "spill_notes", lambda _: ["gemm spills 116 bytes"])
    outcome = Outcome(Settings(kernel=Path("kernel.py")))
    outcome.facts |= {"bench_cases": ["large", "larger"], "simulated_code": ["a digest"]}

    unjudged_code.of_large_cases(outcome, "sm_90a")

    assert outcome.notes == ["[case large, larger] gemm spills 116 bytes"]


def test_who_was_asked_before_a_case_failed_answers_no_later_trial():
    """A process that was asked for its first calls was handed to the next case, whose results it seemed to forge."""
    bundle = SimpleNamespace(size=64, file="first", spans=[])
    spare, failed = SimpleNamespace(close=lambda: None), []
    judge = Judge.__new__(Judge)
    judge.__dict__.update(spares=[spare], put_off=None, spoiled=False, loaded=True, full=True)
    judge.ask_candidate, judge.remove_files = lambda *_, **__: {}, lambda **_: None

    class Trials(CaseTrials):
        _inputs = lambda self, label: bundle
        _reference = lambda self, first, label: {"native": SimpleNamespace(bundle=bundle), "trace": None}
        _working_copy = lambda self, first: SimpleNamespace(bundle=bundle)
        _call = lambda self, *_, **__: {"facts": {}}
        _judge_trial = _circular = _census = _teeth = lambda self, *_, **__: None
        _steps = lambda self, *_: [lambda: failed.append(True), lambda: None]
        case_failed = lambda self: bool(failed)

    judge.settings = Settings(kernel=Path("kernel.py"))
    judge.outcome = Outcome(judge.settings)
    trials = Trials(judge, "default", thorough=False)
    trials.device = "cpu"
    trials.run()

    assert failed
    assert judge.spares == []
