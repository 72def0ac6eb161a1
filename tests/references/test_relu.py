"""elementwise.md's relu keeps NaN, as torch.relu does: run in the simulator, or on a GPU."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile

KERNEL = '''
import functools

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor


def get_inputs(device="cuda"):
    x = torch.randn(512, device=device)
    x[::7] = torch.nan
    return [x]


reference_fn = torch.relu


@cute.kernel
def relu(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    gX, gY, gZ = (cute.zipped_divide(m, (4,))[None, thread] for m in (mX, mY, mZ))
    x = gX.load()
    gY.store(VECTOR)
    for i in cutlass.range_constexpr(4):
        gZ[i] = NUMBER


@cute.jit
def launch(mX, mY, mZ, stream):
    relu(mX, mY, mZ).launch(grid=(1, 1, 1), block=(128, 1, 1), stream=stream)


@functools.cache
def _launcher():
    fakes = [make_fake_tensor(Float32, (512,), stride=(1,), assumed_align=16) for _ in range(3)]
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    return cute.compile(launch, *fakes, stream, options="--enable-tvm-ffi")


def kernel_fn(x):
    y, z = torch.empty_like(x), torch.empty_like(x)
    _launcher()(x, y, z)
    return RESULT
'''


@pytest.mark.parametrize("result", ["y", "z"], ids=["vector", "number"])
def test_relu_of_the_page_is_that_of_torch(tmp_path, result):
    page = (ROOT / "references/elementwise.md").read_text()
    vector, number = re.search(r"^\| relu \| `([^`]+)`.*Of one number: `([^`]+)`", page, re.MULTILINE).groups()
    path, number = tmp_path / "kernel.py", number.replace("(x,", "(gX[i],")
    path.write_text(KERNEL.replace("VECTOR", vector).replace("NUMBER", number).replace("RESULT", result))

    command = [sys.executable, ROOT / "scripts/verify_kernel.py", path, "--level", "quick", "--arch", "sm_90a"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "ok=yes" in run.stdout
