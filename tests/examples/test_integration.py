"""The integration examples do here what can be done without a GPU, and say so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "integration"
pytestmark = pytest.mark.compile


def run(*command, cwd=None, **environment):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, cwd=cwd,
                          env={**os.environ, **environment})  # fmt: skip


def arch_here():
    import torch

    if not torch.cuda.is_available():
        return "sm_90a", False
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}", True


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with gelu.o; the sources are not reachable from it."""
    folder = tmp_path_factory.mktemp("aot")
    done = run(sys.executable, FOLDER / "aot_export" / "export.py", folder, "--arch", arch_here()[0])
    assert done.returncode == 0, done.stderr
    return folder


def check(done):
    """Right on a GPU; elsewhere the object's own argument check has answered."""
    if arch_here()[1]:
        assert (done.returncode, "PASS" in done.stdout) == (0, True), done.stdout + done.stderr
    else:
        assert done.returncode == 6, done.stdout + done.stderr
        assert "refused: Mismatched Tensor on argument #0" in done.stdout
        assert "nothing was launched" in done.stdout


def test_an_export_is_called_from_a_fresh_python(exported):
    shutil.copy(FOLDER / "aot_export" / "load.py", exported)  # away from the kernel's source

    check(run(sys.executable, "load.py", ".", cwd=exported))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
def test_an_export_is_linked_and_called_from_cpp(exported):
    flags = run(sys.executable, FOLDER / "aot_export" / "flags.py").stdout.split()
    built = run("g++", "-std=c++17", "-Wall", "-Werror", FOLDER / "aot_export" / "main.cpp", "gelu.o", "-o", "gelu",
                *flags, cwd=exported)  # fmt: skip
    assert built.returncode == 0, built.stderr

    check(run("./gelu", cwd=exported))


def test_the_operator_holds_on_a_cpu():
    """opcheck, gradient and torch.compile(fullgraph=True) ran; without a GPU it says what did not."""
    done = run(sys.executable, FOLDER / "custom_op.py")

    assert "CPU: schema, fake results, gradient and torch.compile(fullgraph=True) hold" in done.stdout, done.stderr
    if arch_here()[1]:
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "PASS"), done.stderr
    else:
        assert done.returncode == 6
        assert "CUDA graphs were not run" in done.stdout
