"""The elementwise and row examples are right on one small case for each code path: in the simulator, or on a GPU."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from daily import todays

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile

CASES = {
    "adamw.py": ["n=10007", "bf16 parameter", "misaligned"],
    "column_sum.py": ["5x1000"],
    "cross_entropy.py": ["77x129"],
    "dropout.py": ["seed and offset of 64 bits", "misaligned"],
    "fp8_convert.py": ["n=4096", "given scale n=4099", "several tiles a CTA"],
    "gelu.py": ["none forward n=1031", "tanh backward n=1031", "misaligned"],
    "layernorm.py": ["77x129"],
    "masked_mse.py": ["tail", "plain", "fp16", "empty"],
    "moe_router.py": ["groups of 20", "no groups", "bf16", "empty"],
    "moe_router_256.py": ["3 tokens, bf16", "ties", "unaligned rows", "NaN and infinities", "empty"],
    "prefix_sum.py": ["3x1023"],
    "rmsnorm.py": ["77x129"],
    "rmsnorm_fp8.py": ["3x1000", "strided", "zeros"],
    "rope_and_cache.py": ["small", "partial", "odd", "heads first"],
    "row_logsumexp.py": ["3x1000", "2x20008", "masked", "large", "fp32"],
    "segment_mean.py": ["empties", "odd", "fp32", "outside", "no segment"],
    "topk.py": ["77x60 k=6"],
    "integration/pdl.py": ["n=2049", "several tiles a CTA"],
    "swiglu.py": ["33x24", "5x7", "strided"],
    "transpose.py": ["72x200", "65x67", "fp32"],
}


TODAYS = sorted(todays(CASES, 2))  # each is compiled and simulated


def load(example):
    spec = importlib.util.spec_from_file_location(f"example_{Path(example).stem}", ROOT / "examples" / example)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", TODAYS)
def test_the_example_is_right(example):
    cases = [word for case in CASES[example] for word in ("--case", case)]
    command = [sys.executable, ROOT / "scripts" / "verify_kernel.py", ROOT / "examples" / example, *cases]
    command += ["--level", "quick", "--arch", "sm_90a"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "ok=yes" in run.stdout


@pytest.mark.parametrize("example", CASES)
def test_its_instructions_are_the_expected_ones(example):
    script = ROOT / "scripts" / "inspect_kernel.py"
    command = [sys.executable, script, ROOT / "examples" / example, "--arch", "sm_90a"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "holds=yes" in run.stdout


@pytest.mark.parametrize(("counter", "offset", "seed", "words"), [
    (0, 0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (-1, 2**64 - 1, 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (0x85A308D3243F6A88 - 2**64, 0x0370734413198A2E, 0x299F31D0A4093822, "d16cfe09 94fdcceb 5001e420 24126ea1"),
])  # fmt: skip
def test_dropout_draws_the_published_philox_words(counter, offset, seed, words):
    """The known answers of Random123's tests/kat_vectors for philox4x32-10."""
    import torch

    found = load("dropout.py").philox(torch.tensor([counter]), seed, offset)

    assert " ".join(f"{word:08x}" for word in found[0].tolist()) == words


def simulated(example, case):
    runner = ROOT / "tests" / "kernel_harness" / "simulator" / "run_file.py"
    command = [sys.executable, runner, ROOT / "examples" / example, json.dumps(case)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert run.returncode == 0, run.stderr

    answer = json.loads(run.stdout.splitlines()[-1])
    assert answer["findings"] == []
    return answer


@pytest.mark.parametrize("columns", [10240, 131072])
def test_layernorm_of_two_rows_a_thread(columns):
    """As of many rows; the last of an odd number comes twice."""
    answer = simulated("layernorm.py", {"shape": [3, columns], "names": {"MANY": 1}})

    assert answer["launches"] == 1
    assert answer["errors"][0] <= 2**-7 * answer["scales"][0]


def test_dropout_equals_its_reference_bit_for_bit():
    answer = simulated("dropout.py", {"shape": [35, 36], "p": 0.3, "seed": 2**63 + 5, "offset": 2**40 + 1})

    assert answer["launches"] == 1
    assert answer["errors"] == [0]

def test_the_reference_of_adamw_is_that_of_torch():
    import torch

    adamw = load("adamw.py")
    param, _, exp_avg, exp_avg_sq, _, lr, beta1, beta2, eps, decay, _ = adamw.get_inputs((7, 5), device="cpu")
    weight = torch.nn.Parameter(param.clone())
    optimizer = torch.optim.AdamW([weight], lr, (beta1, beta2), eps, decay)
    exp_avg.zero_()
    exp_avg_sq.zero_()
    for step in range(1, 5):
        weight.grad = torch.randn_like(weight)
        optimizer.step()
        adamw.reference_fn(param, weight.grad, exp_avg, exp_avg_sq, step, lr, beta1, beta2, eps, decay)

    torch.testing.assert_close(param, weight.detach())
