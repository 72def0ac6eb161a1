"""The integration examples do here what can be done without a GPU, and say so."""

import importlib.util
import os
import re
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


def test_jax_lowers_the_kernel_and_its_gradient_or_is_asked_for():
    done = run(sys.executable, FOLDER / "jax_call.py")

    if importlib.util.find_spec("jax") is None:
        assert (done.returncode, "needs JAX" in done.stdout) == (6, True), done.stderr
    else:
        assert "lowered for CUDA: 2 kernel calls" in done.stdout, done.stderr
        assert done.returncode == (0 if "PASS" in done.stdout else 6)


def test_the_cost_of_a_call_is_measured_for_each_way():
    done = run(sys.executable, FOLDER / "tvm_ffi_cost.py", "--batches", "2", "--calls", "10")

    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("CALL ")]
    assert len(rows) == (8 if arch_here()[1] else 4)
    assert all(float(re.search(r"median_us=([\d.]+)", row)[1]) > 0 for row in rows)
    assert ("no GPU here" in done.stdout) != arch_here()[1]


def test_the_adapter_of_the_recipe_is_a_kernel_file(tmp_path):
    """Its code imports and keeps the contract; the example itself lies in the reader's checkout."""
    page = (FOLDER / "import_nvidia_example.md").read_text()
    path = tmp_path / "nvidia_gemm.py"
    path.write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
    spec = importlib.util.spec_from_file_location("nvidia_gemm", path)
    adapter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapter)

    for case in adapter.TEST_CASES.values():
        assert adapter.reference_fn(*adapter.get_inputs(**case, device="cpu")).shape == (case["m"], case["n"])
    named = set(re.findall(r"(?:scripts|references|examples/integration)/[\w./-]+\w", page))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
