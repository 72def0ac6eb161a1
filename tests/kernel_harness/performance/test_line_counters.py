"""Counters of source lines: what is shown of them, what they are taken to mean, and that a real kernel's are right."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_harness.performance import line_counters

ROOT = Path(__file__).resolve().parents[3]


def line(number, space="global", direction="read", **changes):
    return {"line": f"k.py:{number}", "space": space, "direction": direction, "requests": 64, "bytes": 32 * 1000,
            "transfers": 1000, "ideal": 1000} | changes


@pytest.mark.cpu
@pytest.mark.parametrize(("changes", "what"), [
    ({"transfers": 4000}, "k.py:7 is not coalesced (read)"),
    ({"transfers": 4000, "direction": "written"}, "k.py:7 is not coalesced (written)"),
    ({"transfers": 2000, "space": "shared"}, "k.py:7 has bank conflicts (read)"),
])
def test_lines_that_transfer_more_than_they_must_are_told(changes, what):
    [found] = line_counters.diagnose([line(5), line(7, **changes)])
    assert found.what == what
    assert f"{changes['transfers']:,}" in found.evidence
    assert (ROOT / found.page).exists()


@pytest.mark.cpu
def test_lines_that_do_not_matter_are_not_told():
    assert line_counters.diagnose([line(5), line(7, transfers=1200)]) == []
    assert line_counters.diagnose([line(5, transfers=10**5, ideal=10**5), line(7, transfers=4000)]) == []
    assert line_counters.diagnose([line(5, ideal=0, transfers=0)]) == []


def kernel(name="rows", **changes):
    return {"kernel": name, "launches": 1, "ctas": 3, "instructions": 7000, "global_bytes": 64_000} | changes


@pytest.mark.cpu
def test_instructions_per_byte_of_global_memory():
    kernels = [kernel(), kernel("merge", launches=2, instructions=500, global_bytes=0)]

    counted = {"kernels": kernels, "bytes_moved": None}
    assert line_counters.totals(counted) == [("rows", 1, 3, 7000, 64000, 3.5), ("merge", 2, 3, 500, 0, None)]


@pytest.mark.cpu
@pytest.mark.parametrize(("moved", "per_byte"), [(16_000, 14.0), (128_000, 3.5)])
def test_what_several_warps_read_comes_from_the_cache(moved, per_byte):
    """bytes_moved may also count more than the kernel at hand moves, or an input of which it reads a part."""
    assert line_counters.totals({"kernels": [kernel()], "bytes_moved": moved})[0][-1] == per_byte


@pytest.mark.cpu
def test_more_instructions_than_bytes_leave_time_for_are_told_of_their_kernel():
    few, many = kernel("apply", instructions=26_000), kernel("statistics", instructions=140_000)
    counted = {"case": "small", "kernels": [few, many, kernel(global_bytes=0)], "bytes_moved": None}
    [found] = line_counters.diagnose_issue(counted)

    assert found.what.startswith("statistics ")
    assert "70 PTX" in found.evidence
    assert (ROOT / found.page).exists()


@pytest.mark.cpu
def test_rows_leave_out_what_moves_next_to_nothing():
    shown = line_counters.rows([line(5, transfers=3000), line(7, transfers=2)])
    assert shown == [("k.py:5", "global read", 64, 32000, 3000, "sectors", 1000, 3.0)]


def profiled(kernel, style):
    """CUDA_VISIBLE_DEVICES hides the GPU from machines that have one, PATH its ncu."""
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES="", PATH="/usr/bin:/bin")
    command = [sys.executable, ROOT / "scripts/profile_kernel.py", kernel, "--format", style]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


@pytest.mark.compile
def test_the_page_shows_what_the_second_rung_of_the_gemm_ladder_gives():
    page = (ROOT / "references/profiling.md").read_text().splitlines()
    shown = [text for text in page if text.startswith(("EXECUTED ", "LINE ", "NOTE "))]

    assert len(shown) == 4
    assert set(shown) <= set(profiled(ROOT / "examples/gemm_ladder/02_shared_memory.py", "plain").stdout.splitlines())


@pytest.mark.compile
def test_the_counters_of_a_kernel_without_a_gpu(tmp_path):
    """The first rung of the softmax ladder gives a row to a thread: each of its loads takes a sector for 2 bytes."""
    source = (ROOT / "examples/softmax_ladder/01_naive.py").read_text()
    kernel = tmp_path / "naive.py"
    cases = 'TEST_CASES = {"small": {"shape": (64, 128)}}\nBENCH_CASES = {"huge": {"shape": (8192, 1024)}}\n'
    kernel.write_text(f"{source}\n\n{cases}")
    finished = profiled(kernel, "json")
    document = json.loads(finished.stdout)
    counted = document["simulated"]

    assert finished.returncode == 6
    assert (counted["case"], counted["arch"]) == ("small", "sm_90a")
    assert [(one["launches"], one["ctas"]) for one in counted["kernels"]] == [(1, 1)]
    loads = [one for one in counted["lines"] if (one["space"], one["direction"]) == ("global", "read")]
    assert loads
    for one in loads:
        assert one["bytes"] == 64 * 128 * 2
        assert one["transfers"] == 16 * one["ideal"] == 64 * 128
    assert any("is not coalesced (read)" in text for text in document["diagnosis"])


@pytest.mark.compile
@pytest.mark.parametrize(("body", "reason"), [
    ("get_inputs = lambda: [torch.randn(1 << 20)]", "no test case has at most 640 KiB of inputs"),
    ("def kernel_fn(x):\n    raise RuntimeError('not today')", "RuntimeError: not today"),
])
def test_without_counters_there_is_a_reason(tmp_path, body, reason):
    kernel = tmp_path / "k.py"
    usual = "import torch\nget_inputs = lambda: [torch.randn(8)]\nreference_fn = kernel_fn = lambda x: x + 1\n"
    kernel.write_text(f"{usual}{body}\n")
    assert line_counters.collect(kernel, "default", "sm_90a", 100) == {"reason": reason}
