"""Unmodified programs in the simulator: right results, silence for correct ones, the line of planted bugs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.compile

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KINDS = {
    "tail": "out-of-bounds",
    "uninitialised": "uninitialised-read",
    "count": "deadlock",
    "bytes": "deadlock",
    "fence": "missing-proxy-fence",
    "unawaited": "accumulator-read-before-wait",
    "swizzle": "swizzle-mismatch",
    "elect": "barrier-misuse",
    "exit": "cluster-lifetime",
}


def run(*command):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def rows():
    return json.loads(run(HERE / "run_planted.py").splitlines()[-1])


def test_correct_programs_are_right_and_clean(rows):
    correct = [row for row in rows if row["bug"] is None]
    assert len(correct) >= 7
    for row in correct:
        assert row["equal"], row["program"]
        assert not row["findings"], row


def test_planted_bugs_are_found_at_their_lines(rows):
    planted = [row for row in rows if row["bug"]]
    assert len(planted) >= 10
    for row in planted:
        places = {(f["kind"], f["line"], f["file"]) for f in row["findings"]}
        kind = KINDS.get(row["bug"], "race")
        assert (kind, row["line"], "dsl_kernels.py") in places, row


def test_addresses_outside_a_tensor_are_told_as_its_coordinates(rows):
    (row,) = [row for row in rows if row["bug"] == "tail"]
    assert ", at [1000] of its shape [1000]" in row["findings"][0]["text"]


@pytest.mark.parametrize(("path", "case", "machine"), [
    ("templates/elementwise.py", {"shape": [10_000]}, [132]),
    ("templates/reduction.py", {"shape": [16, 4096]}, [132]),
    ("templates/gemm_sm90.py", {"m": 256, "n": 256, "k": 128}, [132]),
    ("templates/gemm_sm80.py", {"m": 67, "n": 136, "k": 72}, [108, "sm_80"]),
    ("templates/gemm_sm90.py", {"m": 100, "n": 70, "k": 200, "c": [100, 70], "config": [[64, 64], [1, 1], 2]},
     [132]),  # sums that are sent, tiles that end inside
    ("templates/gemm_sm90.py", {"m": 100, "n": 72, "k": 72, "c": [100, 72], "config": [[64, 64]], "in_place": 2},
     [1]),  # what the tile before stored is not read again
    ("templates/gemm_sm90.py", {"m": 200, "n": 80, "k": 136, "c": [80], "config": [[192, 64]]}, [1]),
    ("templates/gemm_sm90.py", {"m": 272, "n": 200, "k": 72, "config": [[256, 176], [1, 2]]}, [132]),
    ("tests/kernel_harness/simulator/triton_kernels.py", {}, [132]),
    ("tests/kernels/honest/triton_host_descriptors.py", {"m": 50, "n": 72, "k": 104}, [132]),
    ("tests/kernels/honest/triton_host_descriptors.py", {"m": 50, "n": 72, "k": 104}, [108, "sm_80"]),  # no TMA
    ("tests/kernels/honest/triton_tuple_arguments.py", {}, [132]),
    ("tests/kernel_harness/simulator/call_styles.py", {}, [132]),
    ("templates/gemm_sm100.py", {"m": 40, "n": 72, "k": 456}, [148, "sm_100a"]),  # a pair of CTAs; its ring wraps
    ("templates/mla_decode.py", {"lengths": [256, 200], "heads": 64}, [132]),
    ("examples/flash_attention_sm90.py", {"len_q": 150, "len_k": 190, "heads": 4, "heads_kv": 2, "dim": 64,
                                          "is_causal": True}, [3]),  # CTAs with several tiles, dealt in turning order
    ("examples/gqa_decode.py", {"lengths": [500, 0, 3, 200], "capacity": 500, "heads": 6, "heads_kv": 2, "dim": 64},
     [1]),  # warps with several pairs
    ("examples/mla_decode_fp8.py", {"lengths": [70, 0, 3], "heads": 4, "is_viewed": True}, [1]),
    ("examples/mla_decode_fp8.py", {"lengths": [70, 3], "heads": 64, "s_q": 2}, [2]),  # two blocks of rows
])  # fmt: skip
def test_kernel_files_run_clean(path, case, machine):
    """Each file on a small case: no findings, and the result of reference_fn, to the output type's precision."""
    row = json.loads(run(HERE / "run_file.py", ROOT / path, json.dumps(case), *machine).splitlines()[-1])
    assert row["findings"] == []
    assert row["launches"] >= 1
    for error, scale in zip(row["errors"], row["scales"], strict=True):
        assert error <= 2.0**-7 * scale


def test_mla_decode_turns_its_ring_many_times():
    """One multiprocessor: all pages of all sequences, one of them empty, pass through the three stages of one CTA."""
    case = json.dumps({"lengths": [580, 0, 130, 64], "heads": 4})
    row = json.loads(run(HERE / "run_file.py", ROOT / "templates/mla_decode.py", case, 1).splitlines()[-1])

    assert row["findings"] == []
    for error, scale in zip(row["errors"], row["scales"], strict=True):
        assert error <= 2.0**-7 * scale


def test_a_triton_kernel_that_is_forgotten_says_nothing():
    """Triton unloads its module then, also when the simulated device is gone; what it raises goes to stderr."""
    program = """
import gc
from kernel_harness import contract
from kernel_harness.simulator import driver
driver.prepare("sm_90a")
with driver.SimulatedDevice():
    file = contract.load_kernel("tests/kernels/honest/triton_tuple_arguments.py")
    file.kernel_fn(*file.get_inputs())
    file.module.multi_axpy.device_caches.clear()
    gc.collect()
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
