"""Cases of the judge's own, where get_inputs breaks the GPU on some of them."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from kernel_harness.judge import derived_trials, verification
from kernel_harness.judge.outcome import Outcome, Settings

pytestmark = pytest.mark.cpu


class Judge:
    """Whose oracle faults at one size."""

    def __init__(self):
        self.added, self.renewed, self.settings = [], 0, SimpleNamespace(simulate=None)

    def renew_oracle(self):
        self.renewed += 1

    def ask_oracle(self, question, **arguments):
        return {"groups": [["n=7"]]} if "n=99" in arguments["without"] else {"lost": "n=99"}


def test_after_a_fault_another_oracle_is_asked_for_the_other_cases():
    judge = Judge()

    answer = derived_trials._add_cases(judge, "add_unset", cases=["default"])

    assert answer == {"groups": [["n=7"]]}
    assert judge.renewed == 1
    [(question, arguments)] = judge.added  # what a later oracle is asked, to know the same cases
    assert question == "add_unset"
    assert arguments["without"] == ["n=99"]


def test_a_new_oracle_gets_the_cases_that_were_added():
    asked = []
    judge = verification.Judge.__new__(verification.Judge)
    judge.added = [("add_between", {"limit": 7, "without": []}), ("add_unset", {"limit": 7, "without": ["n=99"]})]
    judge.oracle = SimpleNamespace(close=lambda: asked.append("close"))
    judge._worker = lambda role: SimpleNamespace(role=role)
    judge.send_oracle_load = lambda: asked.append("load")
    judge.ask_oracle_answer = lambda op: asked.append(f"{op} answered")
    judge.ask_oracle = lambda op, **arguments: asked.append((op, arguments))

    judge.renew_oracle()

    assert asked == ["close", "load", "load answered", *judge.added]


@pytest.mark.parametrize(
    ("growth", "used", "dtype", "may"),
    [
        (382, 2.4, "float32", True), (382, 25.0, "float32", False), (4, 1.5, "float32", False),
        (382, 2.4, "bfloat16", False),  # its sums are in float32, unless they are carried in 16 bits
    ],
)
def test_rounding_may_grow_with_the_size_by_its_root(growth, used, dtype, may, monkeypatch):
    monkeypatch.setattr(derived_trials, "tensors", lambda native: [torch.zeros(1, dtype=getattr(torch, native))])
    trial = derived_trials._DerivedTrial.__new__(derived_trials._DerivedTrial)
    trial.most, trial.case, trial.outcome = 4096, "far", SimpleNamespace(note=(notes := []).append)
    trial._worst = lambda reply, expected: "three are wrong"
    trial._comparisons = lambda result, expected: [SimpleNamespace(budget_used=0.1), SimpleNamespace(budget_used=used)]

    expected = {"bundle": SimpleNamespace(size=growth * 4096), "native": dtype}
    assert trial._has_grown({"result": None}, expected) is may
    assert ("three are wrong" in str(notes)) is may


@pytest.mark.parametrize(("report", "told"), [(["race: CTA 0"], True), ([], False)])
def test_a_race_is_no_rounding_that_has_grown(report, told, monkeypatch):
    """At a size far above the cases' a result that is right, in launches that the simulator finds fault with."""
    found, notes, asked = [], [], []
    reply = {"facts": {"simulated": {"findings": report}, "host_seconds": 0.0}, "result": None}

    class Trial(derived_trials._DerivedTrial):
        def __init__(self):
            self.base, self.most, self.case = {}, 1, "rows=529"
            self.judge = SimpleNamespace(remove_files=lambda: None, progress=lambda text: None)
            self.outcome = SimpleNamespace(note=notes.append, findings=found)

        _begin = lambda self: SimpleNamespace(size=1 << 20)
        _of_many = lambda self, first: asked.append(first.size)
        _working_copy = lambda self, first: SimpleNamespace(bundle=None)
        _ask_other = lambda self, *_, **__: reply
        _failed_quietly = lambda self, *_: False
        _has_structure = _nearly_right = lambda self, *_: True
        _comparisons = lambda self, *_: [SimpleNamespace(budget_used=0.1)]
        _tell = lambda self, check, seen: found.append(seen)

    monkeypatch.setattr(derived_trials, "finite", lambda base: True)
    Trial().is_judged(None, "sizes-far")

    assert bool(found) is told
    assert asked == ([] if told else [1 << 20])  # values that tell only where there are many
    assert notes == []


@pytest.mark.parametrize(("seconds", "expected"), [(0.01, ["2049", "16385", "131073"]), (60.0, ["2049"])])
def test_far_sizes_are_climbed_in_the_simulator(seconds, expected, monkeypatch):
    """A row of one element takes few bytes, and 131073 of them 131073 CTAs: only smaller ones tell what that takes."""
    judged, clock = [], [0.0]

    def is_judged(trial, other, check):
        clock[0] += seconds
        judged.append(trial.case)
        return True

    monkeypatch.setattr(derived_trials._DerivedTrial, "is_judged", is_judged)
    monkeypatch.setattr(derived_trials.time, "monotonic", lambda: clock[0])
    settings = Settings(kernel=Path("kernel.py"), simulate={"arch": "sm_90a"})
    judge = SimpleNamespace(settings=settings, outcome=Outcome(settings))

    derived_trials._judge_first(judge, ["131073", "16385", "2049"], "sizes-far", 1, None)

    assert judged[: len(expected)] == expected
    assert set(judged) == set(expected)


@pytest.mark.parametrize(("simulate", "done"), [({"arch": "sm_90a"}, 1), (None, 3)])
def test_what_the_simulator_has_no_time_for_is_told(simulate, done, monkeypatch):
    settings, clock, asked = Settings(kernel=Path("kernel.py"), simulate=simulate), [0.0], []
    judge = SimpleNamespace(settings=settings, outcome=Outcome(settings))
    monkeypatch.setattr(derived_trials.time, "monotonic", lambda: clock[0])

    def job(other):
        clock[0] += derived_trials.SIMULATED_SECONDS + 1
        asked.append(other)

    derived_trials._work_off(judge, [job] * 3, "other", derived_trials.SIMULATED_SECONDS)

    assert len(asked) == done
    assert any(note.startswith("2 further sizes") for note in judge.outcome.notes) == (done == 1)


LAUNCH = "CUDADialectError: CUDA launch failed: cudaErrorInvalidValue (1). Check grid, block, dynamic shared memory"
MEMORY = "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB"


@pytest.mark.parametrize(("doc", "error", "found", "notes"), [
    ("x of any size.", LAUNCH, ["crash"], 0), ("x contiguous.", LAUNCH, [], 1), ("x of any size.", MEMORY, [], 0),
], ids=["promised", "not promised", "no memory"])  # fmt: skip
def test_a_launch_that_is_rejected_breaks_a_promise_of_any_size(doc, error, found, notes, tmp_path, monkeypatch):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(f'"""{doc}"""\n')
    settings = Settings(kernel=kernel)

    class Trial(derived_trials._DerivedTrial):
        def __init__(self):
            self.settings, self.outcome, self.case, self.error = settings, Outcome(settings), "b=1048577", error
            self.judge, self.base = SimpleNamespace(remove_files=lambda: None, progress=lambda text: None), {}

        _begin = lambda self: SimpleNamespace(size=1 << 20)
        _working_copy = lambda self, first: SimpleNamespace(bundle=None)
        _ask_other = lambda self, *_, **__: None

    monkeypatch.setattr(derived_trials, "finite", lambda base: True)
    trial = Trial()
    trial.is_judged(None, "sizes-far")

    assert [finding.check for finding in trial.outcome.findings] == found
    assert len(trial.outcome.notes) == notes
