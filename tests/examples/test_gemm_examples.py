"""The GEMM examples for Hopper: right on small cases, simulated or on a GPU, and clear about what they refuse."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile

CASES = {
    "gemm_batched.py": ["odd", "shared_a"],
    "gemm_grouped.py": ["ragged", "nobody"],
    "gemm_fp8_block_scaled.py": ["odd"],
}


def load(example):
    spec = importlib.util.spec_from_file_location(f"example_{Path(example).stem}", ROOT / "examples" / example)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", CASES)
def test_the_example_is_right(example):
    script = ROOT / "scripts" / "verify_kernel.py"
    cases = [word for case in CASES[example] for word in ("--case", case)]
    command = [sys.executable, script, ROOT / "examples" / example, "--level", "quick", "--arch", "sm_90a", *cases]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("ok=yes") == len(cases) // 2


def refusals():
    """(example, arguments of kernel_fn, what the message says)."""
    import torch

    def bf16(*shape):
        return torch.zeros(shape, dtype=torch.bfloat16)

    def fp8(*shape):
        return torch.zeros(shape).to(torch.float8_e4m3fn)

    one, rows, columns = torch.ones(1, 2), torch.ones(8, 2), torch.ones(2, 8).mT
    ends = torch.tensor([4, 4, 9], dtype=torch.int32)
    return [
        ("gemm_batched.py", (bf16(2, 8, 8).float(), bf16(2, 8, 8)), "must be bfloat16 or float16"),
        ("gemm_batched.py", (bf16(2, 8, 8), bf16(3, 8, 8)), "batches differ"),
        ("gemm_batched.py", (bf16(2, 8, 8), bf16(2, 8, 16)), "same K > 0"),
        ("gemm_batched.py", (bf16(2, 8, 9), bf16(2, 8, 9)), "pad the rows"),
        ("gemm_batched.py", (bf16(1, 8, 8).expand(2, 8, 8), bf16(2, 8, 8)), "drop an expanded batch"),
        ("gemm_batched.py", (bf16(2, 8, 8), bf16(2, 8, 8)), "on one CUDA device"),
        ("gemm_grouped.py", (bf16(9, 8), bf16(3, 8, 8).half(), ends), "must be bfloat16 or float16"),
        ("gemm_grouped.py", (bf16(9, 8), bf16(3, 8, 8), ends.long()), r"ends.to\(torch.int32\)"),
        ("gemm_grouped.py", (bf16(9, 12), bf16(3, 8, 12), ends), "pad x and w with zeros along K"),
        ("gemm_grouped.py", (bf16(8, 9).mT, bf16(3, 8, 8), ends), "contiguous rows at multiples of 16 bytes"),
        ("gemm_grouped.py", (bf16(9, 8), bf16(3, 8, 8), ends), "on one CUDA device"),
        ("gemm_fp8_block_scaled.py", (bf16(8, 144), columns, fp8(8, 144), one), "float8_e4m3fn"),
        ("gemm_fp8_block_scaled.py", (fp8(8, 136), columns, fp8(8, 136), one), "pad a and b with zeros along K"),
        ("gemm_fp8_block_scaled.py", (fp8(8, 144), one, fp8(8, 144), one), r"scale_a must be float32 \(8, 2\)"),
        ("gemm_fp8_block_scaled.py", (fp8(8, 144), rows, fp8(8, 144), one), r"scale_a.mT.contiguous\(\).mT"),
        ("gemm_fp8_block_scaled.py", (fp8(144, 8).mT, columns, fp8(8, 144), one), "contiguous along K"),
        ("gemm_fp8_block_scaled.py", (fp8(8, 144), columns, fp8(8, 144), one), "on one CUDA device"),
    ]


@pytest.mark.parametrize("position", range(len(refusals())))
def test_what_it_cannot_take_gets_a_value_error_before_any_launch(position):
    example, arguments, says = refusals()[position]

    with pytest.raises(ValueError, match=says):
        load(example).kernel_fn(*arguments)
