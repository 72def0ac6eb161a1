"""references/tensors.md: a view of a swizzled tensor as another type keeps the swizzle, if it is asked to."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile
KERNEL = '''
import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

ARCHS = ("sm_90a",)


def get_inputs(device="cuda"):
    return [torch.arange(512, device=device).to(torch.bfloat16).view(8, 64)]


def reference_fn(x):
    return x.view(torch.int32).clone()


@cute.kernel
def through_shared_memory(mX: cute.Tensor, mY: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem, swizzle = cutlass.memory.SmemAllocator(), cute.make_swizzle(3, 4, 3)
    s = smem.allocate_tensor(cutlass.BFloat16, cute.make_layout((8, 64), stride=(64, 1)), 1024, swizzle=swizzle)
    for i in cutlass.range_constexpr(8):
        s[i, t] = mX[i, t]
    cute.arch.sync_threads()
    words = VIEW
    for i in cutlass.range_constexpr(8):
        if t < 32:
            mY[i, t] = words[i, t]


@cute.jit
def launch(mX: cute.Tensor, mY: cute.Tensor, stream: cuda.CUstream):
    through_shared_memory(mX, mY).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)


def kernel_fn(x):
    y = torch.empty(8, 32, dtype=torch.int32, device=x.device)
    fakes = [make_fake_tensor(d, (8, n), stride=(n, 1), assumed_align=16)
             for d, n in ((cutlass.BFloat16, 64), (cutlass.Int32, 32))]
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    cute.compile(launch, *fakes, stream, options="--enable-tvm-ffi")(x, y)
    return y
'''
KEPT = "cute.make_tensor(cute.recast_ptr(s.iterator, swizzle, cutlass.Int32), cute.recast_layout(32, 16, s.layout))"


@pytest.mark.parametrize(("view", "code"), [(KEPT, 0), ("cute.recast_tensor(s, cutlass.Int32)", 1)])
def test_recast_tensor_drops_the_swizzle(tmp_path, view, code):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.replace("VIEW", view))
    command = [sys.executable, str(ROOT / "scripts/verify_kernel.py"), str(path), "--level", "quick", "--simulate"]

    run = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert run.returncode == code, run.stdout + run.stderr
