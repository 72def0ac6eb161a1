"""What verify_kernel.py does only on a GPU, on a torch.cuda that the CPU plays (tests/kernel_harness/fake_cuda)."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.cpu

HONEST = """
import torch
TEST_CASES = {"odd": {"n": 1001}}

def kernel_fn(x, y, index):
    BODY
    return {"sum": x + y, "picked": x[index]}

def reference_fn(x, y, index):
    return {"sum": torch.add(x, y), "picked": x[index]}

def get_inputs(n=4096):
    index = torch.randint(0, n, (17,), device="cuda")
    return [torch.randn(n, device="cuda"), torch.randn(n, device="cuda"), index]
"""


@pytest.fixture
def verified(tmp_path):
    """Verifies a file with the played GPU; returns (exit code, document)."""

    def verify(text: str, *arguments: str) -> tuple[int, dict]:
        path = tmp_path / "kernel.py"
        path.write_text(textwrap.dedent(text))
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "tests/kernel_harness/fake_cuda")}
        command = [sys.executable, ROOT / "scripts/verify_kernel.py", path, "--format", "json", *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environ)
        assert run.stdout, run.stderr
        return run.returncode, json.loads(run.stdout)

    return verify


def trials(document: dict, case: str) -> list[str]:
    return list(dict.fromkeys(c["trial"] for c in document["comparisons"] if c["case"] == case))


def steps(document: dict) -> list[str]:
    return [text for _, text in document["facts"]["timeline"]]


def test_an_honest_kernel_goes_through_streams_and_a_graph(verified):
    code, document = verified(HONEST.replace("BODY", "pass"), "--level", "quick")

    assert code == 0, document["reasons"]
    for case in ("default", "odd"):
        assert {"on a side stream", "behind a slow producer on a side stream"} <= set(trials(document, case))
    assert "graph_kernel_nodes" in document["facts"]
    assert not [note for note in document["notes"] if "graph" in note]


VIEWS = """
import torch

def kernel_fn(x):
    q, k = x.chunk(2, -1)
    return 2 * q, k

def reference_fn(x):
    return x[:, :32] * 2, x[:, 32:]

def get_inputs(n=24):
    return [torch.randn(n, 64, device="cuda")]
"""


def test_poison_for_a_replay_spares_the_input_that_a_result_is_a_view_of(verified):
    """From the first to the last element of k lie most of q, which the replay reads."""
    code, document = verified(VIEWS, "--level", "quick")

    assert code == 0, document["reasons"]


def test_after_a_failed_capture_the_next_case_has_a_process_of_its_own(verified):
    """PyTorch's allocator and generators stay in capture when a capture cannot be ended."""
    body = """
    assert not CAPTURED, "this process has seen a capture that failed"
    if torch.cuda.is_current_stream_capturing():
        CAPTURED.append(True)
    x = x + 0 * x[0].item()
    """
    text = HONEST.replace("BODY", body).replace("TEST_CASES", "CAPTURED = []\nTEST_CASES")

    code, document = verified(text, "--level", "quick")

    assert code == 0, document["reasons"]
    assert [note for note in document["notes"] if "cannot be captured in a CUDA graph" in note and "default" in note]
    assert "on a side stream" in trials(document, "odd")


@pytest.mark.parametrize("wait", ["torch.cuda.current_stream().synchronize()", "x[0].item()"])
def test_beside_a_library_a_call_that_waits_is_captured_without_its_waits(verified, monkeypatch, wait):
    monkeypatch.setenv("PLAYED_LIBRARY", "cublas")

    code, document = verified(HONEST.replace("BODY", wait))

    assert code == 0, document["reasons"]
    assert "default: captured without its waits" in steps(document)
    assert document["facts"]["captured_without_waits"] is ("synchronize" in wait)
    assert "on a side stream" in trials(document, "odd")


def test_one_helper_behind_kernel_and_reference_is_seen(verified):
    code, document = verified("""
        import torch

        def helper(x):
            return torch.relu(x)

        def kernel_fn(x):
            return helper(x)

        def reference_fn(x):
            return helper(x)

        def get_inputs():
            return [torch.randn(300, device="cuda")]
        """, "--level", "quick")

    assert "circular-reference" in [reason["check"] for reason in document["reasons"]]
    assert code == 3


@pytest.mark.parametrize("is_old", ["", "1"])
def test_a_graph_that_holds_its_first_inputs_is_wrong(verified, monkeypatch, is_old):
    """What is computed on the host is part of no graph: the replay uses what the capture saw."""
    monkeypatch.setenv("PLAYED_OLD_PYTORCH", is_old)

    code, document = verified("""
        import torch

        def kernel_fn(x):
            if torch.cuda.is_current_stream_capturing():
                return torch.zeros_like(x)
            return x.clamp_min(0)

        def reference_fn(x):
            return torch.relu(x)

        def get_inputs():
            return [torch.randn(300, device="cuda")]
        """, "--level", "quick")

    assert [reason["check"] for reason in document["reasons"]] == ["graph"]
    assert code == 1


@pytest.mark.parametrize("room", ["", "1"])
def test_every_step_of_the_full_level_runs(verified, monkeypatch, room):
    """Where there are cores enough a second process imports the file from the beginning on."""
    monkeypatch.setenv("PLAYED_ROOM", room)

    code, document = verified(HONEST.replace("BODY", "pass"), "--case", "default")

    assert code == 0, document["reasons"]
    assert {"in a fresh process, under load", "inputs of seed 1"} <= set(trials(document, "default"))
    assert any("hostile" in trial for trial in trials(document, "default"))
    assert [row["name"] for row in document["facts"]["kernels"]] == ["played_kernel"]


def test_a_fault_on_the_device_is_the_kernels(verified):
    """Launches are asynchronous: the error comes with the first wait after the call."""
    code, document = verified(HONEST.replace("BODY", "torch.cuda.played_fault = True"), "--level", "quick")

    (reason,) = document["reasons"]
    assert (code, reason["check"]) == (5, "crash")
    assert "kernel_fn raised RuntimeError: CUDA error: an illegal memory access" in reason["text"]


def test_a_reference_that_faults_on_the_judges_values_costs_its_process_only(verified):
    """Entries of a table that nobody reads may point anywhere; where the judge moves them, the reference faults."""
    code, document = verified("""
        import torch

        def kernel_fn(x, table):
            return x[table[:8]] * 2

        def reference_fn(x, table):
            if int(table[:8].max()) >= len(x):
                torch.cuda.played_fault = True
                return x[:8]
            return x[table[:8]] * 2

        def get_inputs(n=4096):
            table = torch.full((64,), 1 << 30)
            table[:8] = torch.randperm(8)
            return [torch.randn(n, device="cuda"), table.to("cuda")]
        """)

    assert code == 0, document["reasons"]
    assert any("hostile" in trial for trial in trials(document, "default"))


def test_integers_that_arrive_late_are_new(verified):
    """A copy to the host that nothing waits for reads the last call's integers."""
    code, document = verified("""
        import torch
        LAST = []

        def kernel_fn(x):
            late = torch.cuda.current_stream().cuda_stream > 1 and LAST
            read = LAST[-1] if late else x
            LAST[:] = [x.clone()]
            return read.cumsum(0)

        def reference_fn(x):
            return x.cumsum(0)

        def get_inputs(n=4096):
            return [torch.randint(0, 3, (n,), device="cuda")]
        """, "--level", "quick")

    assert code == 1
    assert "stream" in [reason["check"] for reason in document["reasons"]]


def test_before_pytorch_2_8_a_graph_keeps_no_nodes_and_is_replayed_all_the_same(verified, monkeypatch):
    monkeypatch.setenv("PLAYED_OLD_PYTORCH", "1")

    code, document = verified(HONEST.replace("BODY", "pass"), "--level", "quick")

    assert code == 0, document["reasons"]
    assert not [note for note in document["notes"] if "graph" in note]
