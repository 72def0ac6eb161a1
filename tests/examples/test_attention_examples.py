"""The attention examples: what ptxas made of them, and what they refuse. Their results: simulator/test_programs.py."""

import importlib.util
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile

LOADED = """
import importlib.util, sys
from kernel_harness.simulator import driver
driver.prepare("sm_90a")
import torch
with driver.SimulatedDevice() as device:
    spec = importlib.util.spec_from_file_location("example", sys.argv[1])
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
"""
REFUSED = LOADED + """    try:
        q, k, v, *rest = example.get_inputs(**eval(sys.argv[2]))
        example.kernel_fn(*eval(sys.argv[3]))
    except ValueError as error:
        print(error, len(device.launches))
"""
FLASH, DECODE, MLA = "flash_attention_sm90.py", "gqa_decode.py", "mla_decode_fp8.py"
SMALL = {FLASH: {"len_q": 8, "len_k": 8, "heads": 4, "heads_kv": 2, "dim": 64},
         DECODE: {"lengths": (8, 3), "capacity": 8, "heads": 4, "heads_kv": 2, "dim": 64},
         MLA: {"lengths": (8, 3), "heads": 4}}  # fmt: skip


@pytest.mark.parametrize(("example", "case"), [
    (FLASH, "default"), (FLASH, "16K causal, dim=64"), (DECODE, "default"), (MLA, "default")])
def test_ptxas_neither_spills_nor_serialises_it(example, case):
    command = [sys.executable, ROOT / "scripts/inspect_kernel.py", ROOT / "examples" / example, "--arch", "sm_90a"]
    run = subprocess.run([*command, "--case", case], capture_output=True, text=True, timeout=600)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "holds=yes" in run.stdout
    if case == "16K causal, dim=64":
        assert "threads=512" in run.stdout, "three warpgroups and the one that loads"


FLASH_CASES = LOADED + """    example.SECTION_BYTES = 0   # one KV head at a time
    for case, groups in ((dict(dim=64), 3), (dict(dim=64, is_causal=True), 3), (dict(dim=64), 2), (dict(dim=128), 2)):
        inputs = example.get_inputs(batch=2, len_q=200, len_k=300, heads=4, heads_kv=2, **case)
        found = example.kernel_fn(*inputs, groups=groups)
        for a, b in zip(found, example.reference_fn(*inputs)):
            torch.testing.assert_close(a.float(), b.float(), rtol=2**-6, atol=2**-8)
        print(case, groups, device.findings)
    for options in (dict(groups=4), dict(tile_n=256, groups=2)):
        try:
            example.kernel_fn(*inputs, **options)
        except ValueError as error:
            print(error)
"""


def test_two_and_three_warpgroups_take_a_kv_head_at_a_time():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    command = [sys.executable, "-c", FLASH_CASES, ROOT / "examples" / FLASH]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(" []\n") == 4, run.stdout
    assert "two or three warpgroups" in run.stdout
    assert "too many registers" in run.stdout


def test_three_warpgroups_unless_their_last_round_is_too_empty():
    spec = importlib.util.spec_from_file_location("flash_attention", ROOT / "examples" / FLASH)
    flash = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(flash)

    def chosen(length, dim, is_causal=False):
        return flash._configuration(1, length, length, 16, dim, is_causal, 132)

    assert [chosen(length, 64)[1] for length in (2048, 4096, 8192, 32768)] == [2, 3, 3, 3]
    assert [chosen(length, 128) for length in (8192, 32768)] == [(128, 2), (160, 2)]
    assert chosen(32768, 128, is_causal=True) == (128, 2)
    assert flash._section(1, 8192, 16, 128, False) == 8, "4 MiB of K and V a head"
    assert flash._section(1, 8192, 16, 128, True) == 16


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
    (MLA, {}, "(q.half(), k, v, *rest)", "q must be bfloat16 and kv_cache uint8 or float8_e4m3fn"),
    (MLA, {}, "(q, k[..., :576], v, *rest)", "kv_cache (1 or more, 64, 656)"),
    (MLA, {}, "(q, torch.nn.functional.pad(k, (0, 16))[..., :656], v, *rest)", "must be dense"),
    (MLA, {}, "(q, k, v.long(), *rest)", "block_table and cache_seqlens must be int32"),
])  # fmt: skip
def test_it_refuses_what_it_cannot_take(example, case, arguments, words):
    command = [sys.executable, "-c", REFUSED, ROOT / "examples" / example, repr(SMALL[example] | case), arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)

    assert run.returncode == 0, run.stderr
    message, launches = run.stdout.rsplit(maxsplit=1)
    assert words in message
    assert launches == "0"


def test_the_fp8_cache_is_laid_out_as_flashmla_documents_it():
    """A token written byte by byte: 512 values, then the scales of each 128, then RoPE in bfloat16."""
    spec = importlib.util.spec_from_file_location("mla_decode_fp8", ROOT / "examples" / MLA)
    mla = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mla)
    values = bytes([0x38, 0xC4] * 256)  # 1 and -3 in e4m3
    rope = struct.pack("<64H", *[0x4000 + i for i in range(64)])
    token = torch.frombuffer(bytearray(values + struct.pack("<4f", 1, 2, 0.3, 4) + rope), dtype=torch.uint8)

    k = mla.dequantize(token)

    scales = torch.tensor([1, 2, 0.3, 4]).repeat_interleave(128)
    assert torch.equal(k[:512], (torch.tensor([1.0, -3.0]).repeat(256) * scales).bfloat16())
    assert torch.equal(k[512:].view(torch.int16), torch.arange(0x4000, 0x4040, dtype=torch.int16))
    latent = torch.randn(5, 576).bfloat16()
    for is_ruled in (True, False):
        again = mla.dequantize(mla.quantize(latent, is_ruled))
        torch.testing.assert_close(again[:, :512], latent[:, :512], rtol=2**-4, atol=2**-8)  # 3 bits of mantissa
        assert torch.equal(again[:, 512:], latent[:, 512:])
