"""What only a GPU can show: CUPTI reads a known kernel, and every timing cheat of the corpus gets no number."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_harness.verdict import ExitCode

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parents[2]
CHEATS = sorted((ROOT / "tests/kernels/timing_cheats").glob("*.py"))


def expected(path):
    """The exit codes that a cheat's docstring allows."""
    lines = ast.get_docstring(ast.parse(path.read_text())).splitlines()
    words = next(line for line in lines if line.startswith("expect:")).removeprefix("expect:").split("|")
    return {int(ExitCode[word.strip()]) for word in words}


@pytest.mark.parametrize("path", CHEATS, ids=lambda path: path.stem)
def test_timing_cheat_gets_no_number(path):
    command = [sys.executable, str(ROOT / "scripts/benchmark_kernel.py"), str(path), "--against", "eager",
               "--budget", "1", "--format", "json"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert finished.returncode in expected(path), finished.stderr
    assert all(not case["contenders"] for case in json.loads(finished.stdout)["cases"])


def test_cupti_reads_a_copy_like_the_events_do():
    import torch
    from kernel_harness.performance import timing

    timer = timing.open_timer("cuda")
    assert timer.method == "cupti", timer.note
    source = torch.randn(1 << 26, device="cuda")
    target = torch.empty_like(source)
    burst = timer.burst(lambda _: target.copy_(source), 8)
    assert not burst.starved
    for call in burst.calls:
        assert call.device_us < call.event_us < call.device_us + 10
        assert (sum(call.launches.values()), call.overhang_us) == (1, 0.0)


def test_events_alone_say_that_they_are_events():
    from kernel_harness.performance import timing

    assert timing.open_timer("cuda", "cuda-events").method == "cuda-events"


ADD = """
import torch


def get_inputs(n=1 << 24):
    padded = int(n * 1.02) // 8192 * 8192
    return [torch.randn(padded, device="cuda", dtype=torch.bfloat16) for _ in range(2)] + [n]


def reference_fn(x, y, n):
    return x[:n] + y[:n]


def kernel_fn(x, y, n):
    return {body}
"""


def test_a_kernel_equals_itself_and_two_percent_more_work_is_slower(tmp_path):
    names = {"a.py": "x[:n] + y[:n]", "b.py": "x[:n] + y[:n]", "more.py": "(x + y)[:n]"}
    for name, body in names.items():
        (tmp_path / name).write_text(ADD.format(body=body))
    command = [sys.executable, str(ROOT / "scripts/benchmark_kernel.py"), str(tmp_path / "a.py"), "--format", "json",
               "--against", str(tmp_path / "b.py"), "--against", str(tmp_path / "more.py")]
    races = []
    for _ in range(3):  # one interval in twenty may leave out 1, and one in five did on an H100
        finished = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert finished.returncode == 0, finished.stderr
        same, more = json.loads(finished.stdout)["cases"][0]["speedups"].values()
        races.append(same["low"] <= 1 <= same["high"])
        assert (same["high"] - same["low"]) / 2 < 0.01
        assert more["low"] > 1
        assert abs(more["estimate"] - 1.02) < 0.01
    assert sum(races) >= 2
