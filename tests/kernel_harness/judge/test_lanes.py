"""Cases side by side find what one judge finds alone. The lanes, which are for a GPU, are played on the CPU."""

import math
import os

import pytest
import torch
from kernel_harness.judge import derived_trials, lanes, verification

pytestmark = pytest.mark.cpu

FILE = """
import os, torch
def get_inputs(n=64, dtype=torch.float32): return [torch.randn(n, dtype=dtype)]
def reference_fn(x): return x + x.square()
TEST_CASES = {cases}
kept = {{}}
def kernel_fn(x):
    {body}
"""
CASES = '{"short": {"n": 3}, "half": {"dtype": torch.float16}, "long": {"n": 500}, "odd": {"n": 77}}'
KEPT_BY_SIZE = "kept.setdefault(x.numel(), x.dtype); return (x + x.square()).to(kept[x.numel()])"


def judged(tmp_path, monkeypatch, body, side_by_side=True, cases=CASES, free=lanes.MEMORY_BYTES, level="quick"):
    """The outcome of a verification, and its judges."""
    kernel = tmp_path / "kernel.py"
    kernel.write_text(FILE.format(body=body, cases=cases))
    judges = []
    if side_by_side:
        send, init = verification.Judge.send_loads, verification.Judge.__init__
        monkeypatch.setattr(verification.Judge, "send_loads", lambda judge: send(judge) or True)
        monkeypatch.setattr(verification.Judge, "__init__", lambda *a: init(*a) or judges.append(a[0]))
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16))
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free, 0))
        monkeypatch.setattr("kernel_harness.judge.device_trials.warm_up", lambda: None)
        monkeypatch.setattr("kernel_harness.inputs.variations.GPU_BYTES", math.inf)
        monkeypatch.setattr("kernel_harness.judge.judgement.CaseJudge._compare_device", staticmethod(lambda _: "cpu"))
    outcome = verification.verify(verification.Settings(kernel=kernel, level=level))
    assert all(not process.alive for judge in judges for process in (judge.oracle, judge.candidate))
    return outcome, judges


def test_every_case_is_judged_once_and_in_order(tmp_path, monkeypatch):
    alone, _ = judged(tmp_path, monkeypatch, "return x + x * x", side_by_side=False)
    together, judges = judged(tmp_path, monkeypatch, "return x + x * x")

    assert len(judges) == 1 + lanes.SIDES
    assert not together.findings
    assert [(row["case"], row["trial"]) for row in together.comparisons] == [
        (row["case"], row["trial"]) for row in alone.comparisons
    ]
    assert together.facts["smallest_case"] == alone.facts["smallest_case"]


def test_a_lane_makes_the_derived_trials_of_full(tmp_path, monkeypatch):
    """All but the case that meets every trial: a lane has to know which one that is."""
    derived, taken = derived_trials.run, []
    monkeypatch.setattr(derived_trials, "run", lambda judge: taken.append(judge) or derived(judge))
    outcome, judges = judged(tmp_path, monkeypatch, "return x + x * x", level="full")

    assert taken
    assert taken[0] in judges[1:]
    assert not outcome.findings
    assert {row["case"] for row in outcome.comparisons} >= {"default", "short", "half", "long", "odd"}


def test_a_lane_that_gets_no_case_finds_nothing(tmp_path, monkeypatch):
    outcome, judges = judged(tmp_path, monkeypatch, "return x + x * x", cases='{"short": {"n": 3}}')

    assert len(judges) > 2
    assert not outcome.findings
    assert {row["case"] for row in outcome.comparisons} == {"default", "short"}


@pytest.mark.parametrize("limit", ["too little memory", "large cases"])
def test_the_first_judge_does_what_the_gpu_has_no_room_for_beside_others(limit, tmp_path, monkeypatch):
    if limit == "large cases":
        monkeypatch.setattr("kernel_harness.judge.trials.LARGE_BYTES", 1)
    free = lanes.MEMORY_BYTES - (limit == "too little memory")
    outcome, judges = judged(tmp_path, monkeypatch, "return x + x * x", free=free)

    assert not outcome.findings
    assert {row["case"] for row in outcome.comparisons} == {"default", "short", "half", "long", "odd"}
    assert [judge.loaded for judge in judges] == [True] + [False] * lanes.SIDES


@pytest.mark.parametrize(("body", "found"), [
    ("return x + x.square() + (x.numel() in (77, 500))", [("values", "long"), ("values", "odd")]),
    (KEPT_BY_SIZE, [("shape", "half")]),  # the cases that differ need not be in one lane
    ("return x + x.square() if x.numel() != 500 else os._exit(3)", [("crash", "long")]),
    ("return x + x.square() if x.numel() != 64 else os._exit(3)", [("crash", "default")]),
], ids=["wrong in two cases", "kept of another case", "a lane's process dies", "the first process dies"])  # fmt: skip
def test_what_is_wrong_in_a_case_is_found(body, found, tmp_path, monkeypatch):
    outcome, _ = judged(tmp_path, monkeypatch, body)

    assert set(found) <= {(finding.check, finding.case) for finding in outcome.findings}, outcome.findings
    assert {finding.case for finding in outcome.findings} <= {case for _, case in found} | {"half", "default"}
