"""tune_kernel.py and profile_kernel.py from the outside, on CPU tensors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

KERNEL = '''
import torch

TUNING_SPACE = {"chunks": [1, 512], "broken": [False, True]}


def tuning_constraint(x, chunks, broken):
    return True if not (broken and chunks == 512) else "nobody wants that"


def get_inputs(n=65536):
    return [torch.randn(n)]


def reference_fn(x):
    return torch.nn.functional.silu(x)


def kernel_fn(x, chunks=64, broken=False):
    out = torch.cat([torch.nn.functional.silu(part) for part in x.chunk(chunks)])
    return out * 2 if broken else out
'''


def run(script, *arguments, flags=()):
    """The finished script."""
    command = [sys.executable, *flags, str(SCRIPTS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("script", ["tune_kernel.py", "profile_kernel.py"])
def test_help_and_wrong_path_need_the_standard_library_alone(script):
    assert run(script, "--help", flags=("-I", "-S")).returncode == 0
    finished = run(script, "nowhere.py", flags=("-S",))
    assert finished.returncode == 3
    assert "nowhere.py: no such file" in finished.stderr


def test_tuning_verifies_races_and_resumes(tmp_path):
    kernel, journal = tmp_path / "k.py", tmp_path / "j.jsonl"
    kernel.write_text(KERNEL)
    first = run("tune_kernel.py", kernel, "--journal", journal, "--budget", "1", "--jobs", "1", "--format", "json")
    assert first.returncode == 0, first.stderr
    case = json.loads(first.stdout)["cases"][0]
    failures = {json.dumps(row["config"]): row["failure"] for row in case["failed"]}
    assert failures['{"chunks": 1, "broken": true}'].startswith("wrong: ")
    assert failures['{"chunks": 512, "broken": true}'] == "excluded by tuning_constraint: nobody wants that"
    assert all(row["rounds"] >= 3 for row in case["configurations"])
    steps = journal.read_text()
    journal.write_text(steps + '{"identity": ')   # killed in the middle of a line
    again = run("tune_kernel.py", kernel, "--journal", journal, "--budget", "1", "--jobs", "1", "--format", "json")
    assert json.loads(again.stdout)["cases"][0]["winner"] == case["winner"]
    assert journal.read_text() == steps   # finished work is not done again


def test_a_run_of_some_configurations_leaves_the_others_to_the_next(tmp_path):
    kernel, journal = tmp_path / "k.py", tmp_path / "j.jsonl"
    kernel.write_text(KERNEL)
    words = [kernel, "--journal", journal, "--budget", "1", "--jobs", "1", "--format", "json"]
    some, every = (json.loads(run("tune_kernel.py", *words, *more).stdout) for more in (("--only", "chunks=1 "), ()))

    tuned = [[row["config"] for row in found["cases"][0]["configurations"]] for found in (some, every)]
    assert {"chunks": 512, "broken": False} not in tuned[0]
    assert {"chunks": 512, "broken": False} in tuned[1]
    assert {"chunks": 1, "broken": False} in tuned[0]
    assert every["resumed_steps"] > 0


def test_file_without_a_space_is_a_contract_error(tmp_path):
    kernel = tmp_path / "k.py"
    kernel.write_text(KERNEL.replace("TUNING_SPACE", "OTHER"))
    finished = run("tune_kernel.py", kernel)
    assert finished.returncode == 3
    assert "defines no TUNING_SPACE" in finished.stderr


def test_profiling_cpu_tensors_cannot_be_decided(tmp_path):
    kernel = tmp_path / "k.py"
    kernel.write_text(KERNEL)
    finished = run("profile_kernel.py", kernel)
    assert finished.returncode == 6
    assert "makes its inputs on the CPU" in finished.stderr


def test_a_missing_ncu_is_a_mistake_of_usage(tmp_path):
    kernel = tmp_path / "k.py"
    kernel.write_text(KERNEL)
    finished = run("profile_kernel.py", kernel, "--ncu", tmp_path / "ncu")
    assert finished.returncode == 2
    assert "no such file" in finished.stderr


@pytest.mark.compile
def test_without_a_gpu_the_profile_is_what_the_code_tells(tmp_path):
    """CUDA_VISIBLE_DEVICES hides the GPU from machines that have one."""
    pytest.importorskip("cutlass")
    kernel = tmp_path / "softmax.py"
    kernel.write_text((SCRIPTS.parent / "templates" / "reduction.py").read_text()
                      .replace('ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")', 'ARCHS = ("sm_90a",)'))
    command = [sys.executable, SCRIPTS / "profile_kernel.py", kernel, "--format", "json", "--case", "77x129"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300,
                              env=dict(os.environ, CUDA_VISIBLE_DEVICES="", PATH="/usr/bin:/bin"))
    document = json.loads(finished.stdout)
    assert finished.returncode == 6
    assert document["case"] == "77x129"  # of TEST_CASES
    assert document["kernels"][0]["registers"] > 0
    assert all("77x129" in kernel["cases"] for kernel in document["kernels"]), "the case that was asked for"
    assert document["verdict"] == "NO GPU"


def test_a_space_of_which_nothing_works_has_no_winner(tmp_path):
    """The file as it stands runs, but nobody asked how fast that is."""
    kernel = tmp_path / "k.py"
    kernel.write_text(KERNEL.replace('return True if not (broken and chunks == 512) else "nobody wants that"',
                                     'raise RuntimeError("boom")'))
    finished = run("tune_kernel.py", kernel, "--budget", "0.5", "--jobs", "1", "--format", "plain")
    assert finished.returncode == 1
    assert "RuntimeError: boom" in finished.stdout
    assert finished.stdout.splitlines()[-1].startswith('VERDICT verdict="NO WINNER"')


def test_a_journal_that_cannot_be_written_is_a_mistake_of_usage(tmp_path):
    kernel = tmp_path / "k.py"
    kernel.write_text(KERNEL)
    finished = run("tune_kernel.py", kernel, "--journal", tmp_path / "nowhere" / "j.jsonl", flags=("-S",))
    assert finished.returncode == 2
    assert "the journal cannot be written in" in finished.stderr


def tuned(tmp_path, text, *arguments):
    kernel = tmp_path / "k.py"
    kernel.write_text(text)
    finished = run("tune_kernel.py", kernel, "--budget", "0.3", "--jobs", "1", "--format", "json", *arguments)
    assert finished.stdout, finished.stderr
    return finished.returncode, json.loads(finished.stdout)


def test_a_keyword_behind_any_number_of_inputs_is_none_of_them(tmp_path):
    text = KERNEL.replace("def kernel_fn(x, chunks=64, broken=False):",
                          "def kernel_fn(*xs, chunks=64, broken=False):\n    x, = xs")

    code, document = tuned(tmp_path, text.replace("[1, 512]", "[1]").replace("[False, True]", "[False]"))

    assert code == 0
    assert document["cases"][0]["failed"] == []


def test_a_file_whose_own_configuration_fails_is_tuned_all_the_same(tmp_path):
    """The first configuration that works draws the inputs; the default is out, with its reason."""
    text = KERNEL.replace("    out =", '    if chunks == 64:\n        raise ValueError("choose chunks")\n    out =')

    code, document = tuned(tmp_path, text)

    (case,) = document["cases"]
    assert code == 0
    assert case["winner"]["broken"] is False
    assert {"config": {}, "failure": "ValueError: choose chunks"} in case["failed"]


def test_a_case_begins_with_a_configuration_that_takes_it(tmp_path):
    """Not with the one that the case before has left, which its inputs exclude."""
    refusal = '    if chunks == 1 and len(x) > 500:\n        raise ValueError("too long")\n    out ='
    text = KERNEL.replace("    out =", refusal)
    cases = 'BENCH_CASES = {"short": {"n": 300}, "long": {"n": 1000}}'

    code, document = tuned(tmp_path, f"{cases}\n{text}")

    assert code == 0
    assert [case["name"] for case in document["cases"]][-2:] == ["short", "long"]
    assert all(case["winner"] is not None for case in document["cases"])


def test_get_inputs_that_fails_ends_in_a_sentence(tmp_path):
    kernel = tmp_path / "k.py"
    kernel.write_text(KERNEL.replace("return [torch.randn(n)]", 'raise RuntimeError("no room")'))

    finished = run("tune_kernel.py", kernel)

    assert finished.returncode == 3
    assert finished.stderr.startswith("error: get_inputs raises RuntimeError: no room")


def test_a_longer_budget_races_again(tmp_path):
    journal = tmp_path / "j.jsonl"
    text = KERNEL.replace("[False, True]", "[False]")
    assert tuned(tmp_path, text, "--journal", journal)[0] == 0
    steps = journal.read_text()

    assert tuned(tmp_path, text, "--journal", journal, "--budget", "0.6")[0] == 0

    assert len(journal.read_text()) > len(steps)
