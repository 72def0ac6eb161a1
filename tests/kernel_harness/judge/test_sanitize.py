"""What compute-sanitizer's summaries mean; the program itself is played by a script."""

import contextlib
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kernel_harness.judge import sanitize

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def _kernel_file(tmp_path):
    (tmp_path / "kernel.py").write_text("")


@pytest.fixture
def program(tmp_path):
    def write(text: str, ends: str = sanitize.RETURNED) -> str:
        path = tmp_path / "compute-sanitizer"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\n{ends}\nEND\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return write


def test_clean_summaries_are_no_errors(program, tmp_path):
    hazards = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
    tool = program(f"========= ERROR SUMMARY: 0 errors\n{hazards}")

    outcomes = sanitize.run(tool, tmp_path / "kernel.py", "default", 30)

    assert [o.tool for o in outcomes] == ["memcheck", "initcheck", "racecheck", "synccheck"]
    assert [o.errors for o in outcomes] == [0, 0, 0, 0]
    assert [o.decides for o in outcomes] == [True, True, False, False]


def test_an_error_is_counted_and_quoted(program, tmp_path):
    tool = program("========= Invalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 3 errors")

    outcome = sanitize.run(tool, tmp_path / "kernel.py", "default", 30)[0]

    assert outcome.errors == 3
    assert outcome.text == "Invalid __global__ write of size 4 bytes"


def test_without_a_summary_nothing_is_known(program, tmp_path):
    outcomes = sanitize.run(program("Device not supported"), tmp_path / "kernel.py", "default", 30)

    assert {o.errors for o in outcomes} == {None}
    assert "Device not supported" in outcomes[0].text


def test_it_is_found_on_the_path(program, monkeypatch):
    folder = os.path.dirname(program(""))
    monkeypatch.setenv("PATH", folder)

    assert sanitize.find() == os.path.join(folder, "compute-sanitizer")


@pytest.mark.parametrize(
    ("index", "text", "errors", "quoted"),
    [
        (1, "Uninitialized __global__ memory read of size 4 bytes\n=========     at k(float *)+0x90\n"
            "========= ERROR SUMMARY: 7 errors\n========= ERROR SUMMARY: 2 errors were not printed. Use --print-limit "
            "option to adjust the number of printed errors", 7, "Uninitialized __global__ memory read of size 4 bytes"),
        (2, "Error: Race reported between Write access at k()+0x40 and Read access at k()+0x60 [62 hazards]\n"
            "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)", 1,
         "Error: Race reported between Write access at k()+0x40 and Read access at k()+0x60 [62 hazards]"),
        (3, "Barrier error detected. Divergent thread(s) in block\n========= ERROR SUMMARY: 1 error", 1,
         "Barrier error detected. Divergent thread(s) in block"),
    ],
)
def test_each_tools_own_words_are_read(program, tmp_path, index, text, errors, quoted):
    tool = program(f"========= COMPUTE-SANITIZER\n========= {text}")

    outcome = sanitize.run(tool, tmp_path / "kernel.py", "a", 30)[index]

    assert (outcome.errors, outcome.text) == (errors, quoted)


def test_a_program_that_fails_is_no_clean_bill(program, tmp_path):
    """The tool counts no error when Python raises before, or instead of, a launch."""
    failed = "Traceback: ValueError\n========= Target application returned an error\n========= ERROR SUMMARY: 0 errors"

    outcome = sanitize.run(program(failed, ends=""), tmp_path / "kernel.py", "default", 30)[0]

    assert outcome.errors is None
    assert "kernel_fn did not return" in outcome.text


def test_a_file_without_gpu_work_was_not_checked(program, tmp_path):
    tool = program("========= ERROR SUMMARY: 0 errors", sanitize.UNUSED)

    outcome = sanitize.run(tool, tmp_path / "kernel.py", "a", 30)[0]

    assert outcome.errors is None
    assert "no GPU" in outcome.text


def test_a_program_that_hangs_is_killed_with_the_tool(tmp_path):
    """The tool's child outlives it and would keep its output open."""
    path, marker = tmp_path / "compute-sanitizer", tmp_path / "pid"
    path.write_text(f"#!/bin/sh\nsleep 300 &\necho $! > {marker}\nwait\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    started = time.monotonic()

    outcomes = sanitize.run(str(path), tmp_path / "kernel.py", "default", 0.5)

    assert {o.errors for o in outcomes} == {None}
    assert "no answer within 0.5 s" in outcomes[0].text
    assert time.monotonic() - started < 60
    with contextlib.suppress(FileNotFoundError):
        state = Path(f"/proc/{marker.read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0]
        assert state == "Z"  # dead; whoever adopted it has not collected it


def test_the_program_that_is_watched_says_how_it_ended(tmp_path):
    """Without a GPU the program itself runs as it stands; a tool that only runs it is the shell."""
    kernel = tmp_path / "kernel.py"
    kernel.write_text("import torch\ndef kernel_fn(x): return x\nreference_fn = kernel_fn\n"
                      "def get_inputs(): return [torch.ones(2)]\n")
    path = tmp_path / "compute-sanitizer"
    path.write_text('#!/bin/sh\nwhile [ "$1" != "-c" ]; do last=$1; shift; done\n"$last" "$@"\n'
                    'echo "========= ERROR SUMMARY: 0 errors"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)

    outcome = sanitize._run(str(path), "memcheck", kernel, "default", 120)

    assert outcome.errors is None
    assert sanitize.UNUSED in outcome.text


@pytest.mark.parametrize(
    ("instruction", "decides"),
    [
        ("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [%r3];", False),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1];", True),
    ],
)
def test_initcheck_advises_where_bulk_stores_write(tmp_path, instruction, decides):
    """On an H200 it reported every element that a TMA store had written, and nothing else."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(
        f"#!/bin/sh\necho '{instruction}' > $CUTE_DSL_DUMP_DIR/kernel.ptx\n"
        "echo '========= Uninitialized __global__ memory read of size 2 bytes'\n"
        f"echo '========= ERROR SUMMARY: 5 errors'\necho '{sanitize.RETURNED}'\n"
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    memcheck, initcheck, *_ = sanitize.run(str(tool), tmp_path / "kernel.py", "default", 30)

    assert memcheck.decides
    assert initcheck.decides is decides
    assert initcheck.errors == 5


def test_a_case_of_bench_cases_can_be_watched(tmp_path):
    (tmp_path / "kernel.py").write_text(
        "kernel_fn = reference_fn = print\ndef get_inputs(n=3): return [n]\nBENCH_CASES = {'small': {'n': 1}}\n")
    scripts = Path(sanitize.__file__).parents[2]

    command = [sys.executable, "-c", sanitize.PROGRAM, scripts, tmp_path / "kernel.py", "small"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100)

    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["1", *sanitize.UNUSED.split()]
