"""inspect_kernel.py as its users run it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "inspect_kernel.py"
FILES = ROOT / "tests" / "kernel_harness" / "compiled" / "capture_files"


def run(*arguments, flags=()):
    command = [sys.executable, *flags, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.cpu
@pytest.mark.parametrize("flags", [(), ("-S",), ("-I", "-S")])
def test_help_needs_the_standard_library_alone(flags):
    done = run("--help", flags=flags)

    assert done.returncode == 0
    assert "--diff" in done.stdout
    assert "exit codes" in done.stdout


@pytest.mark.cpu
@pytest.mark.parametrize(("arguments", "code", "says"), [
    (["nowhere.py"], 3, "no such file"),
    ([FILES / "plain_torch.py", "--arch", "h100"], 2, "'h100' is no compile target"),
    ([FILES / "plain_torch.py", "--diff", "nowhere.py"], 3, "no such file"),
    ([FILES / "plain_torch.py", "--source", __file__], 2, "is a file; name a folder"),
    ([FILES / "plain_torch.py", "--source", "/proc/nowhere/x"], 2, "cannot be a folder"),
    ([FILES / "plain_torch.py", "--timeout", "-1"], 2, "not a positive number"),
])
def test_bad_arguments_get_one_sentence_without_any_package(arguments, code, says):
    done = run(*arguments, flags=("-S",))

    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.compile
def test_devices_of_one_occupancy_are_a_row():
    done = run(FILES / "plain_cute.py", "--arch", "sm_80", "sm_90a", "--format", "plain")
    rows = [line for line in done.stdout.splitlines() if line.startswith("OCCUPANCY")]

    assert [row.partition("device=")[2].split()[0] for row in rows if "sm_90a" in row] == ["H100,H200"]
    assert len([row for row in rows if "sm_80" in row]) == 2, "A100 and RTX 4090 hold other numbers of warps"


@pytest.mark.compile
def test_facts_as_json_and_the_sources_kept(tmp_path):
    done = run(FILES / "plain_cute.py", "--arch", "sm_80", "sm_120a", "--format", "json", "--source", tmp_path / "out")
    document = json.loads(done.stdout)

    assert done.returncode == 0
    facts = [(k["arch"], k["threads"], k["spill_bytes"]) for k in document["kernels"]]
    assert facts == [("sm_80", 256, 0), ("sm_120a", 256, 0)]
    assert {o["device"] for o in document["kernels"][0]["occupancy"]} == {"A100", "RTX 4090"}
    assert [o["device"] for o in document["kernels"][1]["occupancy"]] == ["RTX 5090"]
    assert sorted(p.name for p in (tmp_path / "out").glob("sm_80*")) == [
        "sm_80-scale_kernel.cubin", "sm_80-scale_kernel.ptx", "sm_80-scale_kernel.sass"]


@pytest.mark.compile
def test_a_case_of_bench_cases_is_inspected_by_its_name(tmp_path):
    """What is timed may be another tile than what is verified."""
    source = (FILES / "plain_cute.py").read_text()
    path = tmp_path / "kernel.py"
    path.write_text(source.replace("def get_inputs(): return [torch.randn(128, 64,", "def get_inputs(rows=128): return "
                    "[torch.randn(rows, 64,") + '\nBENCH_CASES = {"timed": {"rows": 256}}\n')

    done = run(path, "--arch", "sm_80", "--format", "json", "--case", "timed")
    unknown = run(path, "--arch", "sm_80", "--case", "other")

    (kernel,) = json.loads(done.stdout)["kernels"]
    assert [(launch["case"], launch["grid"]) for launch in kernel["launches"]] == [("timed", [64, 1, 1])]
    assert unknown.returncode == 2
    assert "has 'default', 'timed'" in unknown.stderr


@pytest.mark.compile
def test_plain_lines_end_with_the_verdict_and_the_exit_code_agrees():
    done = run(FILES / "spills.py", "--arch", "sm_90a")

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith('VERDICT verdict="EXPECT NOT MET" exit_code=1')


@pytest.mark.compile
def test_diff_shows_what_an_edit_changed(tmp_path):
    edited = tmp_path / "edited.py"
    edited.write_text((FILES / "plain_cute.py").read_text().replace("block=(256, 1, 1)", "block=(128, 1, 1)"))

    done = run(FILES / "plain_cute.py", "--arch", "sm_90a", "--diff", edited, "--format", "json")

    assert ["sm_90a", "scale_kernel / scale_kernel", "threads", 256, 128] in json.loads(done.stdout)["difference"]


@pytest.mark.compile
def test_diff_says_so_when_nothing_changed():
    done = run(FILES / "plain_cute.py", "--arch", "sm_90a", "--diff", FILES / "plain_cute.py")

    assert "no fact of plain_cute.py differs from plain_cute.py's" in done.stdout


@pytest.mark.compile
def test_a_default_target_that_the_kernel_is_not_for_is_a_note(tmp_path):
    """Without ARCHS the file promises no target; with them, each must compile."""
    refusal = "    if torch.cuda.get_device_capability()[0] < 9:\n        raise ValueError('float8 needs sm_90')\n"
    source = (FILES / "plain_cute.py").read_text().replace("def kernel_fn(x):\n", "def kernel_fn(x):\n" + refusal)
    silent, named = tmp_path / "silent.py", tmp_path / "named.py"
    silent.write_text(source)
    named.write_text(source + "ARCHS = ('sm_80', 'sm_90a')\n")

    left_out, refused = run(silent, "--format", "json"), run(named, "--format", "json")

    assert (left_out.returncode, refused.returncode) == (0, 6)
    assert json.loads(left_out.stdout)["left_out"] == ["sm_80"]
    assert "float8 needs sm_90" in left_out.stdout
    assert json.loads(refused.stdout)["left_out"] == []


@pytest.mark.compile
def test_expect_is_held_against_nothing_where_nothing_compiled(tmp_path):
    file = tmp_path / "divmod.py"
    source = (FILES / "plain_cute.py").read_text().replace("    i = b * d + t\n", "    i, _ = divmod(b * d + t, 1)\n")
    file.write_text(source + "ARCHS = ('sm_90a',)\nEXPECT = {'sm_90a': {'registers': '<=64'}}\n")

    done = run(file)

    assert done.returncode == 4
    assert "unsupported operand type(s) for divmod()" in done.stdout
    assert "EXPECT" not in done.stdout
