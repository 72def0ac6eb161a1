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


EPILOGUE = """
import torch, triton
import triton.language as tl

@triton.jit
def add(x, bias, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(bias + at % 16, at < n), at < n)

def get_inputs(): return [torch.randn(8, 16), torch.randn(16, 16), torch.randn(16)]
def reference_fn(a, b, bias): return a @ b + bias
def kernel_fn(a, b, bias):
    x = {product}
    out = torch.empty_like(x)
    add[(1,)](x, bias, out, 128, BLOCK=128)
    return out
"""


@pytest.mark.parametrize(("product", "is_told"), [("a @ b", True), ("(a[:, :, None] * b).sum(1)", False)])
def test_a_product_of_pytorch_beside_the_file_s_kernel_is_told_of(tmp_path, product, is_told):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(EPILOGUE.format(product=product))

    outcome = verification.verify(verification.Settings(kernel=kernel, level="quick"))

    assert not outcome.findings
    assert any("PyTorch computes a product (aten::mm)" in note for note in outcome.notes) is is_told
