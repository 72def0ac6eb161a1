"""Which GPU a document names; nvidia-smi is played by a script."""

import stat

import pytest
from kernel_harness import environment
from kernel_harness.performance import gpu_state

pytestmark = pytest.mark.cpu
ROW = "NVIDIA {name}, 580.1, 9.0, 143771, 1980, 1980, 3201, 70.1, 30, 0x0000000000000000, GPU-{uuid}"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an A100 and an H200, in that order; counts how often nvidia-smi runs."""
    rows = [ROW.format(name="A100", uuid="aaaa-1"), ROW.format(name="H200", uuid="bbbb-2")]
    program, calls = tmp_path / "nvidia-smi", tmp_path / "calls"
    program.write_text(f"#!/bin/sh\necho call >> {calls}\ncat <<'END'\n" + "\n".join(rows) + "\nEND\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return calls


@pytest.mark.parametrize(
    ("visible", "name"),
    [(None, "NVIDIA A100"), ("1", "NVIDIA H200"), ("1,0", "NVIDIA H200"), ("GPU-bbbb-2", "NVIDIA H200"),
     ("GPU-bbbb", "NVIDIA H200"), ("", None), ("-1", None), ("7", None)],
)
def test_the_gpu_is_the_one_that_pytorch_uses(machine, monkeypatch, visible, name):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    gpu = environment.describe()["gpu"]

    assert (gpu and gpu["name"]) == name
    assert machine.read_text().split() == ["call"]


@pytest.mark.parametrize(
    ("visible", "asked"), [("2,0", ("index", 2)), ("GPU-bb", ("uuid", b"GPU-bb")), ("", ("index", 0))]
)
def test_the_state_is_of_that_gpu_too(monkeypatch, visible, asked):
    class Library:
        nvmlDeviceGetHandleByIndex_v2 = staticmethod(lambda index, _: ("index", index))
        nvmlDeviceGetHandleByUUID = staticmethod(lambda uuid, _: ("uuid", uuid))

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    assert gpu_state._find(Library, gpu_state.ctypes.c_void_p()) == asked
