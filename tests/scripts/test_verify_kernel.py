"""verify_kernel.py from outside: exit codes, formats, files, limits, and where it can be run from."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "verify_kernel.py"
pytestmark = pytest.mark.cpu

RELU = """
import torch

def kernel_fn(x):
    return torch.clamp_min(x, 0)

def reference_fn(x):
    return torch.relu(x)

def get_inputs(n=1000, dtype=torch.float32):
    return [torch.randn(n, dtype=dtype)]
"""


def verify(path, *arguments, script=SCRIPT, python=(), cwd=None, env=None):
    return subprocess.run(
        [sys.executable, *python, str(script), str(path), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
        env={**os.environ, **(env or {})},
    )


@pytest.fixture
def kernel(tmp_path):
    def write(text, name="kernel.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


def reasons(run):
    return [r["check"] for r in json.loads(run.stdout)["reasons"]]


def test_of_several_wrong_outputs_the_integers_are_told(kernel):
    path = kernel("""
        import torch

        def reference_fn(x):
            values, indices = x.topk(3)
            return values, indices

        def kernel_fn(x):
            return x[:, 1:4].clone(), torch.arange(1, 4).expand(len(x), 3).clone()

        def get_inputs():
            return [torch.randn(20, 100)]
    """)

    run = verify(path, "--level", "quick", "--format", "json")

    assert run.returncode == 1
    assert [r["text"][:10] for r in json.loads(run.stdout)["reasons"] if r["check"] == "values"] == ["output [1]"]


ROUNDS_BY_DTYPE = """
import torch

def kernel_fn(x, y):
    h = (x.float() + y.float()).bfloat16()
    return h, h.float().abs().amax(1)

def reference_fn(x, y):
    wide = torch.promote_types(x.dtype, torch.float32)
    h = (x.to(wide) + y.to(wide)).to(x.dtype)
    return h, h.to(wide).abs().amax(1)

def get_inputs():
    return [torch.randn(64, 100, dtype=torch.bfloat16) for _ in range(2)]
"""


def test_a_reference_that_rounds_by_the_dtype_of_its_inputs_hears_which_output_shows_it(kernel):
    run = verify(kernel(ROUNDS_BY_DTYPE), "--level", "quick", "--format", "json")

    assert (run.returncode, reasons(run)) == (3, ["unstable-reference"]), run.stdout
    assert "output [1] (torch.float32)" in run.stdout
    assert "name the dtype" in run.stdout


def test_a_right_kernel_passes_with_the_verdict_last(kernel):
    run = verify(kernel(RELU), "--level", "quick")

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.strip().splitlines()[-1].startswith("VERDICT verdict=PASS exit_code=0")
    assert run.stderr == ""


@pytest.mark.parametrize(
    ("change", "code", "check"),
    [
        (("torch.clamp_min(x, 0)", "torch.clamp_min(x, 0.01)"), 1, "values"),
        (("torch.clamp_min(x, 0)", "torch.clamp_min(x, 0).half()"), 1, "shape"),
        (("torch.clamp_min(x, 0)", "torch.clamp_min(x, 0)[:, None]"), 1, "shape"),
        (("torch.clamp_min(x, 0)", "(torch.clamp_min(x, 0),)"), 3, "structure"),
        (("torch.clamp_min(x, 0)", "None"), 3, "structure"),
        (("torch.clamp_min(x, 0)", "x.clamp_(min=0)"), 1, "input-mutation"),
        (("torch.clamp_min(x, 0)", "reference_fn(x)"), 7, "reference-called"),
        (("torch.relu(x)", "kernel_fn(x)"), 3, None),
        (("torch.clamp_min(x, 0)", "1 / 0"), 5, "crash"),
        (("torch.clamp_min(x, 0)", "__import__('os')._exit(0)"), 7, "exit"),
        (("torch.clamp_min(x, 0)", "__import__('os').abort()"), 5, "crash"),
        (("torch.randn(n, dtype=dtype)]", "torch.randn(n, dtype=dtype)] and None"), 3, None),
        (("return [torch.randn(n, dtype=dtype)]", "return torch.randn(n)"), 3, None),
        (("return [torch.randn(n, dtype=dtype)]", "return [1, 2.0]"), 3, None),
        (("return [torch.randn(n, dtype=dtype)]", "return [torch.randn(n, device='meta')]"), 3, None),
        (("def kernel_fn", "MUTATES = (7,)\n\ndef kernel_fn"), 3, None),
        (("return torch.relu(x)", "return torch.zeros_like(x)"), 6, None),
    ],
)
def test_exit_code_and_reason(kernel, change, code, check):
    text = RELU.replace(*change)
    if "zeros_like" in text:
        text = text.replace("torch.clamp_min(x, 0)", "torch.zeros_like(x)")
    run = verify(kernel(text), "--level", "full" if code == 6 else "quick", "--format", "json")

    assert run.returncode == code, run.stdout + run.stderr
    if check:
        assert check in reasons(run)
    if code == 3 and check is None:
        first = next(line for line in run.stderr.splitlines() if not line.startswith("["))  # progress of a busy machine
        assert first.startswith("error: ")
        assert "kernel_harness" not in run.stderr


def test_a_file_that_changes_meanwhile_is_undecided_once_and_no_cheat(kernel):
    path, done = kernel(RELU + "TEST_CASES = {'a': {'n': 7}, 'b': {'n': 9}}\n"), threading.Event()

    def edit():
        while not done.wait(0.05):
            with open(path, "a") as file:
                file.write("# edited\n")

    editor = threading.Thread(target=edit)
    editor.start()
    run = verify(path, "--level", "quick", "--format", "json")
    done.set()
    editor.join()

    assert run.returncode == 6, run.stdout + run.stderr
    assert reasons(run) == ["edited"]


def test_a_wrong_result_shows_place_values_and_count(kernel):
    run = verify(
        kernel(RELU.replace("return torch.clamp_min(x, 0)", "out = torch.clamp_min(x, 0); out[992:] += 1; return out")),
        "--level",
        "quick",
    )

    assert run.returncode == 1
    finding = next(line for line in run.stdout.splitlines() if line.startswith("FINDING"))
    for part in ("8 of 1000 elements are wrong", "first at [992]", "kernel ", "reference ", "tail from 992 on"):
        assert part in finding


def test_a_case_with_a_finding_is_not_ok_though_its_values_are(kernel):
    run = verify(kernel(RELU.replace("torch.clamp_min(x, 0)", "x.clamp_min_(0).clone()")), "--level", "quick")
    (case,) = [line for line in run.stdout.splitlines() if line.startswith("CASE")]

    assert run.returncode == 1
    assert "FINDING values" not in run.stdout
    assert case.endswith("ok=no")


def test_a_hang_is_killed_with_all_its_processes(kernel, tmp_path):
    marker = tmp_path / "child.pid"
    text = RELU.replace(
        "return torch.clamp_min(x, 0)",
        f"""
    import subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); time.sleep(600)"])
    open({str(marker)!r}, "w").write(str(child.pid))
    time.sleep(600)""",
    )
    started = time.monotonic()

    run = verify(kernel(text), "--timeout", 5, "--level", "quick")

    assert run.returncode == 5
    assert time.monotonic() - started < 60
    assert "took longer than 5 s" in run.stdout
    time.sleep(0.2)
    assert not Path(f"/proc/{marker.read_text()}/exe").exists()


def test_formats_and_output_file(kernel, tmp_path):
    path, out = kernel(RELU), tmp_path / "result.json"

    run = verify(path, "--level", "quick", "--format", "json", "-o", out)

    document = json.loads(run.stdout)
    assert document == json.loads(out.read_text())
    assert document["verdict"] == "PASS"
    assert document["comparisons"]
    assert document["environment"]["torch"]
    table = verify(path, "--level", "quick", "--format", "table", env={"COLUMNS": "150"})
    assert "PASS" in table.stdout
    assert "float32[1000]" in table.stdout


def test_the_next_step_can_be_typed_where_it_is_printed(kernel, tmp_path):
    (tmp_path / "with space").mkdir()
    kernel(RELU, "with space/relu.py")

    run = verify("with space/relu.py", "--level", "quick", cwd=tmp_path)

    (step,) = [line.removeprefix("NEXT ") for line in run.stdout.splitlines() if line.startswith("NEXT ")]
    _, script, path = shlex.split(step)
    assert (tmp_path / script).is_file()
    assert (tmp_path / path).is_file()


def test_an_output_file_survives_a_failure(kernel, tmp_path):
    out = tmp_path / "result.json"
    out.write_text("precious")

    run = verify(tmp_path / "missing.py", "-o", out)

    assert run.returncode == 3
    assert out.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--case", "nope"], 2, "has 'default'"),
        (["--case", "nope", "--compile-only"], 2, "has 'default'"),
        (["--rtol", "-1"], 2, "zero or more"),
        (["--timeout", "0"], 2, "positive"),
        (["-o", "/nowhere/x.json"], 2, "there is no folder"),
        (["--arch", "h100"], 2, "no compile target"),
        (["--level", "extreme"], 2, "invalid choice"),
    ],
)
def test_usage_errors_come_before_any_work(kernel, arguments, code, text):
    run = verify(kernel(RELU), *arguments)

    assert run.returncode == code
    assert text in run.stderr
    assert "Traceback" not in run.stderr


def test_rtol_and_atol_replace_the_rule(kernel):
    path = kernel(RELU.replace("torch.clamp_min(x, 0)", "torch.clamp_min(x, 0) * 1.001"))

    assert verify(path, "--level", "quick").returncode == 1
    assert verify(path, "--level", "quick", "--rtol", 1e-2, "--atol", 1e-3).returncode == 0


def test_a_files_tolerance_cannot_be_widened_past_the_ceiling(kernel):
    path = kernel(
        RELU.replace("torch.clamp_min(x, 0)", "torch.clamp_min(x, 0) * 1.001")
        + "TOLERANCE = {'rtol': 0.1, 'atol': 0.1}\n"
    )

    run = verify(path, "--level", "quick")

    assert run.returncode == 1
    assert "is looser than torch.float32 allows a file" in run.stdout


def test_another_files_reference_can_be_used(kernel):
    other = kernel(RELU.replace("torch.relu(x)", "torch.relu(x) + 1"), "other.py")

    assert verify(kernel(RELU), "--level", "quick", "--reference", other).returncode == 1


def test_help_needs_the_standard_library_alone():
    run = subprocess.run(
        [sys.executable, "-S", "-I", str(SCRIPT), "--help"], capture_output=True, text=True, timeout=60
    )

    assert run.returncode == 0
    assert "exit codes:" in run.stdout


@pytest.mark.parametrize("python", [(), ("-I",), ("-E",)], ids=str)
def test_runs_from_a_copied_folder_and_through_a_link(kernel, tmp_path, python):
    copy = tmp_path / "skills" / "cute-dsl-kernels"
    shutil.copytree(ROOT / "scripts", copy / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    link = tmp_path / "link"
    link.symlink_to(copy)

    run = verify(kernel(RELU), "--level", "quick", script=link / "scripts" / "verify_kernel.py", python=python, cwd="/")

    assert run.returncode == 0, run.stdout + run.stderr


def test_a_file_that_prints_a_verdict_does_not_make_one(kernel):
    text = RELU.replace("return torch.clamp_min(x, 0)", "print('VERDICT verdict=PASS exit_code=0'); return x")

    run = verify(kernel(text), "--level", "quick")

    assert run.returncode == 1
    assert run.stdout.count("VERDICT") == 1


def test_a_file_of_cuda_tensors_is_compiled_and_no_pass_without_a_gpu(kernel):
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has a GPU: the file would run")
    run = verify(kernel(RELU.replace("dtype=dtype)]", "dtype=dtype, device='cuda')]")), "--level", "quick")

    assert run.returncode == 6
    assert "verdict=PASS" not in run.stdout


def test_a_result_in_the_inputs_memory_repeats_bit_for_bit(kernel):
    """The bytes around an input, which differ from call to call, are no part of the result."""
    run = verify(kernel("""
        import torch

        MUTATES = (0, 2)

        def reference_fn(x, y, z):
            z.mul_(0.5)
            return x.add_(y)

        kernel_fn = lambda x, y, z: (z.div_(2.0), x.copy_(x + y))[1]

        def get_inputs():
            return [torch.randn(3001) for _ in range(3)]
        """))

    assert run.returncode == 0, run.stdout
    assert "repeatable" not in run.stdout


@pytest.mark.parametrize(("define", "returned"), [("def", "x.clamp(min=0).numpy()"), ("async def", "x.clamp(min=0)")])
def test_a_result_of_another_kind_is_a_mistake_and_no_cheat(kernel, define, returned):
    run = verify(kernel(f"""
        import torch

        reference_fn = torch.relu

        {define} kernel_fn(x):
            return {returned}

        def get_inputs():
            return [torch.randn(100)]
        """))

    assert run.returncode == 3, run.stdout
    assert "FINDING structure" in run.stdout


def test_a_size_between_that_is_refused_is_noted_with_the_reason(kernel):
    run = verify(kernel("""
        import torch

        TEST_CASES = {"a": {"n": 64}, "b": {"n": 512}}
        reference_fn = torch.relu

        def kernel_fn(x):
            if len(x) not in (64, 512, 1000):
                raise ValueError("a length of the cases")
            return torch.clamp_min(x, 0)

        def get_inputs(n=1000):
            return [torch.randn(n)]
        """))

    assert run.returncode == 0, run.stdout
    assert "kernel_fn refuses this, as it may: ValueError: a length of the cases" in run.stdout


def test_the_reference_at_a_size_that_no_case_has_is_told(kernel):
    run = verify(kernel("""
        import torch

        TEST_CASES = {"a": {"n": 64}, "b": {"n": 512}}

        def reference_fn(x):
            return torch.relu(x)

        def kernel_fn(x):
            return torch.clamp_min(x, 0) if len(x) in (64, 512, 1000) else reference_fn(x)

        def get_inputs(n=1000):
            return [torch.randn(n)]
        """))

    assert run.returncode == 0, run.stdout
    assert "kernel_fn gives no result: kernel_fn calls reference_fn" in run.stdout


ORDER = """
import os, signal, torch
most = 0

def kernel_fn(x):
    global most
    if x.numel() < most:
        FAIL
    most = max(most, x.numel())
    return x * 2

def reference_fn(x):
    return x * 2

def get_inputs(n=1000):
    return [torch.randn(n)]

TEST_CASES = {"b": {"n": 2000}, "c": {"n": 3000}}
"""


@pytest.mark.parametrize(("fail", "words"), [
    ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"), ("os._exit(5)", "exited with code 5"),
    ('raise RuntimeError("smaller after larger")', "smaller after larger")])
def test_a_kernel_that_fails_when_its_cases_come_in_another_order_is_wrong(kernel, fail, words):
    run = verify(kernel(ORDER.replace("FAIL", fail)), "--format", "json")

    assert run.returncode == 5, run.stdout
    assert any("last cases first" in r["text"] and words in r["text"] for r in json.loads(run.stdout)["reasons"])


def test_memory_that_runs_out_in_another_order_is_not_the_kernels_fault(kernel):
    run = verify(kernel(ORDER.replace("FAIL", 'raise MemoryError("no memory")')), "--format", "json")

    assert run.returncode == 0, run.stdout
    assert any("no memory" in note for note in json.loads(run.stdout)["notes"])


def test_a_write_to_an_input_that_never_ends_is_a_time_out(kernel):
    """A signal handler that returns meets the fault again."""
    path = kernel(RELU.replace("    return torch.clamp_min", """    import ctypes, signal
    signal.signal(signal.SIGSEGV, lambda *_: None)
    byte = (ctypes.c_ubyte * 1).from_address(x.data_ptr())
    byte[0] = byte[0]
    return torch.clamp_min"""))

    run = verify(path, "--timeout", "4", "--format", "json")

    assert (run.returncode, reasons(run)) == (5, ["timeout"]), run.stderr


def test_an_offset_shows_a_mean_of_too_many_where_16_bits_hide_it_around_zero(kernel):
    run = verify(kernel("""
        import torch

        def kernel_fn(x):
            y = x.float()
            means = [part.mean(1, keepdim=True) for part in y.split(64, 1)]
            mean = sum(64 * m for m in means) / y.shape[1]  # the last part is counted as full
            return ((y - mean) / y.var(1, keepdim=True, correction=0).add(1e-5).sqrt()).to(x.dtype)

        def reference_fn(x):
            return torch.nn.functional.layer_norm(x, x.shape[1:])

        def get_inputs(m=16, n=509):
            return [torch.randn(m, n).bfloat16()]
        """), "--format", "json")

    (reason,) = json.loads(run.stdout)["reasons"]
    assert (run.returncode, reason["check"]) == (1, "values")
    assert "around 16 times its spread" in reason["text"]


@pytest.mark.parametrize("arguments", [
    ["--compile-only", "--simulate"], ["--compile-only", "--reference", "other.py"], ["--simulate", "--sanitize"],
    ["--compile-only", "--multiprocessors", "8"]])
def test_options_of_which_one_would_be_ignored_are_refused(kernel, arguments):
    run = verify(kernel(RELU), *arguments)

    assert run.returncode == 2
    assert "leave" in run.stderr


def test_a_name_of_any_letters_is_taken_whatever_the_terminal_can_show(kernel):
    run = verify(kernel(RELU, "\u044f\u0434\u0440\u043e.py"), "--level", "quick", env={"PYTHONIOENCODING": "ascii"})

    assert run.returncode == 0, run.stderr
    assert "verdict=PASS" in run.stdout


@pytest.mark.parametrize(("text", "name", "words"), [
    (RELU, "k" * 300 + ".py", "cannot be read"), ("-" * 100_000 + "1", "deep.py", "is not Python source")])
def test_what_cannot_be_read_is_a_sentence(tmp_path, text, name, words):
    path = tmp_path / name
    if len(name) < 200:
        path.write_text(text)

    run = verify(path)

    assert run.returncode == 3, run.stderr
    assert words in run.stderr
    assert "Traceback" not in run.stderr


def test_the_outputs_of_a_case_stand_in_their_order(kernel):
    run = verify(kernel("""
        import torch

        def kernel_fn(x):
            values, places = x.max(1)
            return values, places

        def reference_fn(x):
            return tuple(x.max(1))

        def get_inputs(m=30, n=50):
            return [torch.randn(m, n)]
        """), "--level", "quick", "--format", "plain")

    assert 'outputs="float32[30] int64[30]"' in run.stdout, run.stdout


def test_bytes_that_are_compared_as_signed_are_found_where_the_reference_only_chooses(kernel):
    run = verify(kernel("""
        import torch

        def kernel_fn(x):
            values, places = x.view(torch.int8).max(1)
            return values.view(torch.uint8), places

        def reference_fn(x):
            return tuple(x.max(1))

        def get_inputs(m=30, n=50):
            return [torch.randint(0, 100, (m, n), dtype=torch.uint8)]
        """), "--format", "json")

    (reason,) = json.loads(run.stdout)["reasons"]
    assert (run.returncode, reason["check"]) == (1, "other-values")
    assert "fill their type, in the order of before" in reason["text"]


def test_bytes_that_are_codes_keep_their_range(kernel):
    """A table has no more entries than get_inputs' own codes: nothing says what lies behind its end."""
    run = verify(kernel("""
        import torch

        def kernel_fn(codes, table):
            return table[codes.long() % 100]

        def reference_fn(codes, table):
            return table[codes.long().clamp(max=99)]

        def get_inputs(m=300):
            return [torch.randint(0, 100, (m,), dtype=torch.uint8), torch.randn(100)]
        """), "--format", "json")

    assert run.returncode == 0, run.stdout
