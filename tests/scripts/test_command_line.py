"""What all scripts share, from outside: how they end when told to, and where -o writes."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
pytestmark = pytest.mark.cpu

# Says where the log of its process is, which lies in the script's temporary folder, and which process it started.
NEVER_ENDS = """
import os, pathlib, subprocess, time
import torch

TUNING_SPACE = {"block": [1, 2]}
ARCHS = ("sm_80", "sm_90a")  # inspect_kernel.py compiles for both at the same time

def kernel_fn(x, block=1):
    log = os.readlink("/proc/self/fd/1")
    sleeper = subprocess.Popen(["sleep", "600"], start_new_session=True)
    note = pathlib.Path(__file__).with_name("note")
    part = note.with_suffix(f".{os.getpid()}")
    part.write_text(f"{sleeper.pid} {log}")
    part.rename(note)
    time.sleep(600)

def reference_fn(x, **_):
    return x

def get_inputs():
    return [torch.randn(100)]
"""


def eventually(holds, seconds):
    limit = time.monotonic() + seconds
    while not (answer := holds()) and time.monotonic() < limit:
        time.sleep(0.05)
    return answer


def ended(pid):
    """Is the process gone, or a zombie that waits for whoever adopted it?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.mark.parametrize(("script", "number"), [
    ("verify_kernel", signal.SIGTERM), ("verify_kernel", signal.SIGHUP), ("verify_kernel", signal.SIGINT),
    ("inspect_kernel", signal.SIGTERM), ("inspect_kernel", signal.SIGINT),
    ("benchmark_kernel", signal.SIGTERM), ("tune_kernel", signal.SIGTERM),
])  # fmt: skip
def test_a_script_that_is_told_to_end_leaves_nothing_behind(script, number, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(NEVER_ENDS)
    process = subprocess.Popen([sys.executable, SCRIPTS / f"{script}.py", kernel], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
    try:
        assert eventually((tmp_path / "note").exists, 120), process.stderr.read()
        sleeper, log = (tmp_path / "note").read_text().split()
        assert Path(log).exists()
        process.send_signal(number)
        _, said = process.communicate(timeout=30)

        assert (process.returncode, said.count("\n")) == (128 + number, 1), said
        assert eventually(lambda: ended(sleeper), 5)
        assert not Path(log).parent.exists()
    finally:
        process.kill()


def test_a_signal_that_the_caller_ignores_stays_ignored():
    code = ("import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from kernel_harness import cli; "
            "raise SystemExit(cli.run(lambda: os.kill(os.getpid(), signal.SIGHUP) or 0))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, timeout=60)

    assert done.returncode == 0


def look_up(*arguments, **keywords):
    return subprocess.run([sys.executable, SCRIPTS / "find_example.py", "--op", "mla", *arguments],
                          capture_output=True, text=True, timeout=60, **keywords)  # fmt: skip


def test_an_output_that_is_a_device_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader:
        done = look_up("-o", pipe)

        assert done.returncode == 0, done.stderr
        assert json.load(reader)["tool"] == "find_example"
    assert pipe.is_fifo()


def test_an_output_that_is_a_link_is_written_through(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "there" / "result.json")

    assert look_up("-o", link).returncode == 0
    assert link.is_symlink()
    assert json.loads((tmp_path / "there" / "result.json").read_text())["exit_code"] == 0


@pytest.mark.parametrize(("name", "says"), [
    ("kernel.py", "the result would take the place of a Python file"),
    ("n" * 300, "File name too long"),
    ("loop", "loop"),
])  # fmt: skip
def test_an_output_that_must_not_be_written_is_refused_before_any_work(name, says, tmp_path):
    (tmp_path / "kernel.py").write_text("precious")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    done = look_up("-o", tmp_path / name)

    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "kernel.py").read_text() == "precious"


def test_a_report_whose_output_has_no_room_is_printed_all_the_same(tmp_path):
    out = tmp_path / "result.json"
    out.write_text("precious")
    done = look_up("-o", out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))

    assert (done.returncode, done.stderr) == (2, f"error: -o {out} could not be written: File too large\n")
    assert done.stdout.splitlines()[-1].startswith("VERDICT verdict=FOUND")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("result.json", "precious")]


@pytest.mark.parametrize(("script", "package"), [
    ("verify_kernel", "torch"), ("inspect_kernel", "torch"), ("benchmark_kernel", "torch"), ("tune_kernel", "torch"),
    ("profile_kernel", "torch"), ("find_example", "yaml")])
def test_an_interpreter_without_the_packages_is_told_which_has_them(script, package, tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("kernel_fn = reference_fn = abs\ndef get_inputs(): return []\n")

    command = [sys.executable, "-S", SCRIPTS / f"{script}.py", file]  # no site-packages
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert run.returncode == 6
    assert run.stderr.startswith(f"error: {sys.executable} has no package {package}: use the Python")
