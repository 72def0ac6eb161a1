"""What a kernel leaves behind is seen; what PyTorch itself does is not held against it."""

import functools
import os
import random
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy
import pytest
import torch
from kernel_harness.observation import audit, integrity

pytestmark = pytest.mark.cpu


def test_a_replaced_function_is_named(monkeypatch):
    snapshot = integrity.Snapshot()
    monkeypatch.setattr(torch, "allclose", lambda *a, **k: True)
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)

    assert set(snapshot.replaced_functions()) >= {"torch.allclose", "time.perf_counter"}


def test_a_swapped_code_object_is_seen(monkeypatch):
    snapshot = integrity.Snapshot()
    monkeypatch.setattr(torch.testing.assert_close, "__code__", (lambda *a, **k: None).__code__)

    assert "torch.testing.assert_close" in snapshot.replaced_functions()


def test_what_pytorch_wraps_itself_is_no_tampering(monkeypatch):
    snapshot = integrity.Snapshot()
    wrapper = functools.partial(torch.manual_seed)
    own = type(torch.manual_seed)(torch.nn.functional.relu.__code__, globals())  # code from a file of torch
    monkeypatch.setattr(torch, "manual_seed", own)

    assert "torch.manual_seed" not in snapshot.replaced_functions()
    monkeypatch.setattr(torch, "manual_seed", wrapper)
    assert "torch.manual_seed" in snapshot.replaced_functions()


def test_a_changed_file_is_seen(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("x = 1\n")
    snapshot = integrity.Snapshot((path,))

    path.write_text("x = 2\n")

    assert snapshot.changed_files() == [str(path)]


@pytest.mark.parametrize(
    ("enter", "leave", "name"),
    [
        (
            lambda: torch.set_default_dtype(torch.float64),
            lambda: torch.set_default_dtype(torch.float32),
            "default dtype",
        ),
        (
            lambda: torch.set_float32_matmul_precision("medium"),
            lambda: torch.set_float32_matmul_precision("highest"),
            "float32 matmul precision",
        ),
        (lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True), "gradient mode"),
        (lambda: torch.set_autocast_enabled("cpu", True), lambda: torch.set_autocast_enabled("cpu", False), "autocast"),
        (lambda: torch.set_flush_denormal(True), lambda: torch.set_flush_denormal(False), "flush denormals"),
    ],
)
def test_numeric_state_shows_a_setting_left_behind(enter, leave, name):
    before = integrity.numeric_state()
    enter()
    try:
        after = integrity.numeric_state()
    finally:
        leave()

    assert {key for key in before if before[key] != after[key]} >= {name}
    assert integrity.numeric_state() == before


@pytest.mark.parametrize(("between", "seeded"), [
    (lambda: None, False),
    (random.random, False),
    (lambda: random.seed(5), True),
    (lambda: (random.seed(5), random.random()), True),
    (lambda: random.Random(5).random(), False),
    (lambda: numpy.random.seed(5), True),
    (lambda: numpy.random.default_rng(5).random(), False),
])  # fmt: skip
def test_a_generator_that_each_call_seeds_anew(between, seeded):
    integrity.seeded_anew()
    between()
    integrity.seeded_anew()
    between()

    assert bool(integrity.seeded_anew()) is seeded


def test_process_state_shows_hooks():
    before = integrity.process_state()
    sys.setprofile(lambda *_: None)
    try:
        after = integrity.process_state()
    finally:
        sys.setprofile(None)

    assert [key for key in before if before[key] != after[key]] == ["trace or profile function"]


def test_process_state_shows_how_numpy_handles_errors():
    assert integrity.process_state()["NumPy's handling of errors"] == integrity.NUMPY_ERRORS
    with numpy.errstate(divide="ignore"):
        assert integrity.process_state()["NumPy's handling of errors"] != integrity.NUMPY_ERRORS


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Runs lines as the body of a function of a watched kernel file; returns what the watch reported."""
    folder = tmp_path_factory.mktemp("watched")
    path = folder / "kernel.py"
    seen: list[str] = []
    audit.watch(path, (folder / "private",), seen.append)

    def run(body: str) -> list[str]:
        names: dict = {}
        modules = "gc, inspect, os, subprocess, sys, pathlib, warnings, collections, torch"
        code = f"import {modules}\ndef body():\n{textwrap.indent(body, '    ')}\n"
        exec(compile(code, str(path), "exec"), names)
        seen.clear()
        names["body"]()
        return list(seen)

    return run


@pytest.mark.parametrize(
    "body",
    [
        "sys._getframe(1)",
        "inspect.stack()",
        "gc.get_objects()",
        "open(f'/proc/{os.getppid()}/cmdline').read()",
        "pathlib.Path('/proc/self/environ').read_bytes()",
        "os.listdir('/proc')",
        "os.listdir('/dev/shm')",
        "exec(compile('import sys; sys._getframe(1)', 'elsewhere.py', 'exec'))",
        "sys.setprofile(sys.getprofile())",
        "subprocess.run(['ps'], capture_output=True)",
    ],
)
def test_looking_around_is_seen(watched, body):
    assert watched(body)


@pytest.mark.parametrize(
    "body",
    [
        "warnings.warn('x')",
        "collections.namedtuple('P', 'a b')",
        "open('/proc/cpuinfo').read()",
        "torch.ones(3).sum()",
        "os.path.exists('/tmp')",
        "open('/proc/self/maps').read()",
    ],
)
def test_ordinary_work_is_not(watched, body):
    assert not watched(body)


def test_busy_threads_show_and_idle_ones_do_not():
    import threading

    stop = threading.Event()
    idle = threading.Thread(target=stop.wait)
    idle.start()
    try:
        assert integrity.busy_share(time.sleep) < 0.5
        end = time.monotonic() + 3
        threading.Thread(target=lambda: [None for _ in iter(lambda: time.monotonic() < end, False)]).start()
        assert integrity.busy_share(time.sleep) > integrity.BUSY
    finally:
        stop.set()
        idle.join()


def test_a_thread_that_only_starts_is_none(monkeypatch):
    """One tick of the clock in the first look, and nothing after it."""
    ticks = iter([0, 1, 1, 1])
    monkeypatch.setattr(integrity, "_ticks_of_others", lambda: next(ticks))

    assert integrity.busy_share(lambda seconds: None) == 0.0


def test_threads_of_this_process_are_counted():
    assert integrity.thread_count() == len(os.listdir("/proc/self/task"))


NEWER_FLAGS = """
import torch
from kernel_harness.observation import integrity
before = integrity.numeric_state()
torch.backends.{flag} = "{value}"
after = integrity.numeric_state()
assert [n for n in before if after[n] != before[n]], "the change is not seen"
integrity.strict_numerics()
strict = integrity.numeric_state()
assert torch.backends.{flag} == "ieee"
assert not strict["cuda.matmul.allow_tf32"] and not strict["cudnn.allow_tf32"]
assert strict["float32 matmul precision"] == "highest"
"""


@pytest.mark.parametrize(
    ("flag", "value"),
    [("fp32_precision", "tf32"), ("cuda.matmul.fp32_precision", "tf32"), ("cudnn.conv.fp32_precision", "ieee")],
)
def test_precision_flags_by_their_newer_names_are_read_and_reset(flag, value):
    """PyTorch's older getters raise once a file has set a newer flag alone."""
    scripts = Path(integrity.__file__).parents[2]
    program = NEWER_FLAGS.format(flag=flag, value=value)
    run = subprocess.run([sys.executable, "-c", program], cwd=scripts, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
