"""benchmark_kernel.py from the outside: exit codes, streams, and a whole run on CPU tensors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "benchmark_kernel.py"
CHEATS = ROOT / "tests" / "kernels" / "timing_cheats"

KERNEL = '''
import torch

BENCH_CASES = {"small": {"n": 4096}}


def get_inputs(n=65536):
    return [torch.randn(n), torch.randn(n)]


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def kernel_fn(x, y):
    return x * torch.sigmoid(x) * y


def bytes_moved(x, y):
    return 12 * x.numel()
'''


def run(*arguments, flags=(), timeout=120):
    """The finished script."""
    command = [sys.executable, *flags, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """An honest kernel on CPU tensors."""
    path = tmp_path_factory.mktemp("kernels") / "silu_mul.py"
    path.write_text(KERNEL)
    return path


@pytest.mark.parametrize("flags", [(), ("-I", "-S"), *([("-S", "-P")] if sys.version_info >= (3, 11) else [])])
def test_help_needs_the_standard_library_alone(flags):
    finished = run("--help", flags=flags)
    assert finished.returncode == 0, finished.stderr
    assert "--fail-on-regression" in finished.stdout
    assert "7  cheating or tampering seen" in finished.stdout


@pytest.mark.parametrize(("arguments", "code", "sentence"), [
    (("nowhere.py",), 3, "nowhere.py: no such file"),
    ((), 2, "name a KERNEL.py"),
    (("k.py", "--fail-on-regression", "3"), 2, "needs --compare"),
    (("k.py", "--plot", "x.pdf"), 2, "must end in .svg or .png"),
    (("k.py", "--budget", "0"), 2, "not a positive number"),
    (("k.py", "--plot", "nowhere/x.svg"), 2, "there is no folder"),
    (("k.py", "--plot", str(ROOT)), 2, "is a folder; name a file in it"),
    (("--compare", "nowhere.json", "nowhere.json"), 2, "No such file"),
])
def test_mistakes_get_a_sentence_with_the_standard_library_alone(arguments, code, sentence):
    finished = run(*arguments, flags=("-S",))
    assert (finished.returncode, finished.stdout) == (code, "")
    assert sentence in finished.stderr


def test_honest_kernel_is_timed_and_compared_with_itself(kernel, tmp_path):
    result = tmp_path / "old.json"
    finished = run(kernel, "--against", "eager", "--case", "small", "--budget", "1", "--format", "json", "-o", result)
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    assert document == json.loads(result.read_text())
    timed, eager = document["cases"][0]["contenders"]
    assert timed["method"] == "perf_counter"
    assert timed["note"] == "timed on the CPU by the host clock"
    assert timed["samples_compared"] >= 2
    assert timed["median_us"] > 0
    assert len(timed["rounds_us"]) == len(eager["rounds_us"]) >= 8
    assert document["cases"][0]["speedup"]["against"] == "eager"
    assert timed["roofline"]["percent"] > 0
    assert document["ceilings"][0]["copy"] > 1e8
    compared = run("--compare", result, result, "--fail-on-regression", "1", "--format", "plain")
    assert compared.returncode == 0, compared.stderr
    assert compared.stdout.splitlines()[-1].startswith("VERDICT verdict=COMPARED")


@pytest.mark.parametrize("says", ["'many'", "1 / 0", "float('nan')", "-1"])
def test_a_count_that_is_no_number_is_a_broken_contract_that_names_it(says, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.replace("return 12 * x.numel()", f"return {says}"))
    finished = run(path, "--against", "eager", "--budget", "0.2")

    assert finished.returncode == 3, finished.stdout
    assert "bytes_moved must return a number" in finished.stderr


def test_unknown_case_and_kernel_without_gpu_are_told_apart(kernel):
    assert "no such case; " in run(kernel, "--case", "huge", "--against", "eager").stderr


@pytest.mark.parametrize(("cheat", "codes"), [
    ("replayed_copy", {7}), ("self_reported", {7}), ("half_after_a_while", {1}),
])
def test_timing_cheats_get_no_number(cheat, codes):
    finished = run(CHEATS / f"{cheat}.py", "--against", "eager", "--budget", "1", "--format", "plain")
    assert finished.returncode in codes, finished.stdout + finished.stderr
    assert "FINDING" in finished.stdout
    assert " us=" not in finished.stdout


def test_an_old_run_of_another_file_is_refused_before_anything_is_timed(kernel, tmp_path):
    old = tmp_path / "old.json"
    entry = {"name": "kernel", "median_us": 1.0, "rounds_us": [1.0] * 8, "method": "perf_counter", "device": "cpu"}
    old.write_text(json.dumps({
        "tool": "benchmark_kernel", "environment": {"gpu": None, "cpu": "c"}, "kernel": {"sha256": "ab"}, "charges": [],
        "cases": [{"name": "small", "keywords": {}, "shapes": [], "contenders": [entry]}]}))
    finished = run(kernel, "--compare", old, flags=("-S",))   # without torch: nothing can have run

    assert finished.returncode == 2
    assert "the kernel file changed between the runs" in finished.stderr


def test_a_missing_module_with_cuda_in_its_name_is_no_missing_gpu(tmp_path):
    kernel = tmp_path / "k.py"
    kernel.write_text(f"import cuda_that_is_not_here\n{KERNEL}")
    finished = run(kernel)
    assert finished.returncode == 3, finished.stdout
    assert "fails on import: ModuleNotFoundError: No module named 'cuda_that_is_not_here'" in finished.stderr


def test_a_baseline_that_dies_aside_loses_its_place_alone(kernel, tmp_path):
    """In the calls on warm inputs, when every time has been taken."""
    other = tmp_path / "dies.py"
    other.write_text(kernel.read_text() + """

right, last = kernel_fn, [0, 0]


def kernel_fn(*inputs):
    import os

    last[1] = last[1] + 1 if inputs[0].data_ptr() == last[0] else 0
    if last[1] >= 3:
        os._exit(3)
    last[0] = inputs[0].data_ptr()
    return right(*inputs)
""")

    finished = run(kernel, "--against", other, "--against", other, "--budget", "0.3", "--format", "json")

    assert finished.returncode in (0, 6), finished.stderr
    document = json.loads(finished.stdout)
    assert any("dies.py" in remark for remark in document["remarks"])
    assert document["cases"][0]["contenders"][0]["median_us"] > 0


def test_a_chart_that_cannot_be_written_costs_no_times(kernel, tmp_path):
    chart, answer = "/proc/chart.svg", tmp_path / "o.json"
    finished = run(kernel, "--against", "eager", "--budget", "0.3", "--plot", chart, "-o", answer)

    assert finished.returncode == 2
    assert "--plot /proc/chart.svg could not be written" in finished.stderr
    assert json.loads(answer.read_text())["cases"]
