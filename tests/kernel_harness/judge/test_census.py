"""At full the fresh process counts the kernels of its second call, on a GPU. Played on the CPU, where none are."""

import pytest
from kernel_harness.judge import trials, verification
from kernel_harness.processes.worker import Worker

pytestmark = pytest.mark.cpu

FILE = """
import torch
def get_inputs(): return [torch.randn(64)]
def reference_fn(x): return x + x
def kernel_fn(x): return 2 * x
"""


def as_on_a_gpu(step):
    def played(self, *arguments):
        self.on_gpu = True
        try:
            return step(self, *arguments)
        finally:
            self.on_gpu = False

    return played


def test_the_fresh_process_takes_the_census_in_its_second_call(tmp_path, monkeypatch):
    kernel, asked, counted, send = tmp_path / "kernel.py", [], [], Worker.send
    kernel.write_text(FILE)

    def sent(worker, op, **arguments):
        if "count_kernels" in arguments:
            asked.append((worker, arguments["count_kernels"]))
        send(worker, op, **arguments)

    for step in ("_start_others", "_fresh_process"):
        monkeypatch.setattr(trials.CaseTrials, step, as_on_a_gpu(getattr(trials.CaseTrials, step)))
    monkeypatch.setattr(trials.CaseTrials, "_census", lambda trial, facts: trial.on_gpu and counted.append(facts))
    monkeypatch.setattr(Worker, "send", sent)
    outcome = verification.verify(verification.Settings(kernel=kernel, level="full"))

    assert not outcome.findings
    first, second = [(worker, count) for worker, count in asked if worker.log_file.name.startswith("candidate")][-2:]
    assert first[0] is second[0]
    assert [first[1], second[1]] == [False, True]
    assert len(counted) == 3  # of each call of that process, of which those that did not count say nothing
    again = [row for row in outcome.comparisons if row["trial"] == "in a fresh process, again"]
    assert [row["passed"] for row in again] == [True]
