"""The attention examples: what ptxas made of them, and what they refuse. Their results: simulator/test_programs.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile

REFUSED = """
import importlib.util, sys
from kernel_harness.simulator import driver
driver.prepare("sm_90a")
import torch
with driver.SimulatedDevice() as device:
    spec = importlib.util.spec_from_file_location("example", sys.argv[1])
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    try:
        q, k, v, *rest = example.get_inputs(**eval(sys.argv[2]))
        example.kernel_fn(*eval(sys.argv[3]))
    except ValueError as error:
        print(error, len(device.launches))
"""
FLASH, DECODE = "flash_attention_sm90.py", "gqa_decode.py"
SMALL = {FLASH: {"len_q": 8, "len_k": 8, "heads": 4, "heads_kv": 2, "dim": 64},
         DECODE: {"lengths": (8, 3), "capacity": 8, "heads": 4, "heads_kv": 2, "dim": 64}}  # fmt: skip


@pytest.mark.parametrize("example", [FLASH, DECODE])
def test_ptxas_neither_spills_nor_serialises_it(example):
    command = [sys.executable, ROOT / "scripts/inspect_kernel.py", ROOT / "examples" / example, "--arch", "sm_90a"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "holds=yes" in run.stdout


@pytest.mark.parametrize(("example", "case", "arguments", "words"), [
    (FLASH, {"dim": 96}, "(q, k, v)", "64 or 128"),
    (FLASH, {"heads": 3}, "(q, k, v)", "heads a multiple of heads_kv"),
    (FLASH, {}, "(q, k.half(), v)", "k must have rank 4 and be bfloat16 or float16 like q"),
    (FLASH, {}, "(q, k, v.transpose(2, 3).contiguous().transpose(2, 3))", "v must be contiguous in its last mode"),
    (FLASH, {}, "(q, k[:, :0], v[:, :0])", "there must be keys"),
    (DECODE, {"dim": 32}, "(q, k, v, *rest)", "head dimension 64 or 128"),
    (DECODE, {"heads": 34}, "(q, k, v, *rest)", "a KV head serves 1 to 16 query heads"),
    (DECODE, {}, "(q, k, v, rest[0].long())", "lengths must be int32"),
    (DECODE, {}, "(q, k, v, rest[0], -1.0)", "softmax_scale must be positive"),
])  # fmt: skip
def test_it_refuses_what_it_cannot_take(example, case, arguments, words):
    command = [sys.executable, "-c", REFUSED, ROOT / "examples" / example, repr(SMALL[example] | case), arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)

    assert run.returncode == 0, run.stderr
    message, launches = run.stdout.rsplit(maxsplit=1)
    assert words in message
    assert launches == "0"
