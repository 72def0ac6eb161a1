"""Hostile trials ask an oracle of their own, which imported what they need while others ran. Played on the CPU."""

import pytest
from kernel_harness.judge import trials, verification

pytestmark = pytest.mark.cpu

FILE = """
import torch
def get_inputs(): return [torch.randn(64, 32)]
def reference_fn(x): return torch.nn.functional.silu(x)
def kernel_fn(x): return {body}
"""
RIGHT, WRONG_IF_LARGE = "x / (1 + torch.exp(-x))", "torch.where(x.abs() < 60, x.sigmoid() * x, x)"


@pytest.mark.parametrize(("body", "found"), [(RIGHT, set()), (WRONG_IF_LARGE, {"values"})], ids=["right", "wrong"])
def test_the_understudy_judges_hostile_values(body, found, tmp_path, monkeypatch):
    kernel, judges, oracles, ask = tmp_path / "kernel.py", [], [], trials.CaseTrials._ask_what_it_refuses

    def asked(case, *arguments):
        ask(case, *arguments)
        judges.append(case.judge)
        oracles.append(case.judge.oracle)
        case.judge.rehearse()
        oracles.append(case.judge.understudy)

    monkeypatch.setattr(trials.CaseTrials, "_ask_what_it_refuses", asked)
    kernel.write_text(FILE.format(body=body))
    outcome = verification.verify(verification.Settings(kernel=kernel, level="full"))

    assert {finding.check for finding in outcome.findings} == found
    assert all("hostile inputs" in finding.text for finding in outcome.findings)
    assert judges[0].oracle is oracles[1]
    assert judges[0].understudy is None
    assert not any(oracle.alive for oracle in oracles)
