"""Sentences of pages that no fence of theirs executes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile
HEAD = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
"""
TMA = """
@cute.kernel
def kernel(load: cute.CopyAtom, tA: cute.Tensor):
    smem = cutlass.memory.SmemAllocator()
    USE

@cute.jit
def launch(mA: cute.Tensor):
    layout = cute.make_layout((64, 64), stride=(64, 1))
    load, tA = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), mA, layout, (64, 64))
    kernel(load, tA).launch(grid=(1, 1, 1), block=(128, 1, 1))

cute.compile(launch, make_fake_tensor(cutlass.BFloat16, (128, 128), stride=(128, 1), assumed_align=16))
"""
RECAST = """
@cute.jit
def show():
    print(cute.recast_tensor(cute.make_rmem_tensor((1, 11), cutlass.Int32), cutlass.BFloat16).layout)
    print(cute.recast_tensor(cute.make_rmem_tensor(11, cutlass.Int32), cutlass.BFloat16).layout)

show()
"""
STRIDE = """
@cute.jit
def launch(mX: cute.Tensor):
    print(cutlass.const_expr(isinstance(mX.stride[0], int) and mX.stride[0] == 1))

for stride in (1, cute.sym_int64()):
    cute.compile(launch, make_fake_tensor(cutlass.Float32, (cute.sym_int(),), stride=(stride,)))
"""


def ran(program: str, tmp_path: Path) -> subprocess.CompletedProcess:
    path = tmp_path / "program.py"
    path.write_text(HEAD + program)
    environment = {**os.environ, "CUTE_DSL_ARCH": "sm_90a"}
    return subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize(("use", "message"), [
    ("smem.allocate_array(tA.element_type, 64)", "value_ty must be a type of Numeric, but got typing.Union"),
    ("cute.make_rmem_tensor(8, tA.element_type)", "issubclass() arg 1 must be a class")])  # fmt: skip
def test_the_element_type_of_a_coordinate_tensor_is_no_dtype(use, message, tmp_path):
    """references/troubleshooting.md"""
    run = ran(TMA.replace("USE", use), tmp_path)

    assert run.returncode != 0
    assert message in run.stdout + run.stderr
    assert message in (ROOT / "references/troubleshooting.md").read_text()


def test_recast_register_words_of_a_row_hold_no_pairs(tmp_path):
    """references/tensors.md"""
    run = ran(RECAST, tmp_path)

    assert run.stdout.splitlines() == ["(1,22):(0,1)", "22:1"], run.stderr


def test_a_stride_that_may_be_dynamic_is_asked_first(tmp_path):
    """references/control-flow.md"""
    run = ran(STRIDE, tmp_path)

    assert run.stdout.splitlines() == ["True", "False"], run.stderr


@pytest.mark.parametrize(("file", "drains"), [
    ("examples/gemm_ladder/05_ring.py", True), ("examples/gemm_ladder/06_producer_warp.py", True),
    ("examples/gemm_ladder/07_persistent.py", False), ("templates/gemm_sm90.py", False)])  # fmt: skip
def test_a_wait_in_the_loop_drains_every_round(file, drains, tmp_path):
    """references/gemm.md: inspect_kernel.py names it, and DEPBAR "<=2" tells the forms apart."""
    folder = tmp_path / "sass"
    command = [sys.executable, ROOT / "scripts/inspect_kernel.py", ROOT / file, "--arch", "sm_90a", "--format", "plain"]
    run = subprocess.run([*command, "--source", folder], capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stdout
    assert ("waits for every WGMMA in each round" in run.stdout) == drains
    [sass] = folder.glob("*.sass")
    assert (sass.read_text().count("WARPGROUP.DEPBAR") > 2) == drains


LOOP = """
from cutlass import Float32, Int32, Int64

@cute.kernel
def kernel(mX: cute.Tensor, mY: cute.Tensor):
    first, n, total = Int64(cute.arch.thread_idx()[0]), Int64(cute.size(mX)), Float32(0.0)
    step = STEP
    for i in cutlass.range(RANGE):
        value = mX[AT]
        total += value * value
    mY[first] = total

@cute.jit
def launch(mX: cute.Tensor, mY: cute.Tensor):
    kernel(mX, mY).launch(grid=(1, 1, 1), block=(128, 1, 1))

tensor = lambda size: make_fake_tensor(cutlass.Float32, (size,), stride=(1,))
cute.compile(launch, tensor(cute.sym_int64()), tensor(128))
"""


@pytest.mark.parametrize(("step", "compiles"), [
    ("128", True), ("Int32(128)", False), ("Int64(128)", False), ("cute.arch.grid_dim()[0] * 128", False)])
def test_a_loop_of_64_bits_takes_a_python_step_or_counts_its_rounds(step, compiles, tmp_path):
    """references/types.md"""
    program = LOOP.replace("STEP", step)
    rounds = "(n - first + step - 1) // step"
    stepped = ran(program.replace("RANGE", "first, n, step").replace("AT", "i"), tmp_path)
    counted = ran(program.replace("RANGE", rounds).replace("AT", "first + i * step"), tmp_path)

    assert (stepped.returncode == 0) == compiles, stepped.stderr
    assert compiles or "TYPE_CONDITIONAL_BRANCH_MISMATCH" in stepped.stdout + stepped.stderr
    assert counted.returncode == 0, counted.stderr


PAIRS = """
import cutlass, cutlass.cute as cute, torch
from cutlass import Float32, Int32
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

@cute.kernel
def kernel(mX: cute.Tensor, mY: cute.Tensor):
    thread = cute.arch.thread_idx()[0]
    rX, rY = cute.make_rmem_tensor(8, cutlass.BFloat16), cute.make_rmem_tensor(8, Float32)
    cute.autovec_copy(mX[None, thread], rX)
    WIDEN
    cute.autovec_copy(rY, mY[None, thread])

@cute.jit
def launch(mX: cute.Tensor, mY: cute.Tensor, stream):
    kernel(mX, mY).launch(grid=(1, 1, 1), block=(128, 1, 1), stream=stream)

def kernel_fn(x):
    y = torch.empty_like(x, dtype=torch.float32)
    tensor = lambda kind: make_fake_tensor(kind, (8, 128), stride=(1, 8), assumed_align=16)
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    cute.compile(launch, tensor(cutlass.BFloat16), tensor(Float32), stream, options="--enable-tvm-ffi")(x.T, y.T)
    return y

reference_fn = lambda x: x.float()
get_inputs = lambda device="cuda": [torch.randn(128, 8, device=device).bfloat16()]
"""
WIDEN = {
    "to": "rY.store(rX.load().to(Float32))",
    "words": """words = cute.recast_tensor(rX, Int32)
    for k in cutlass.range_constexpr(4):
        rY[2 * k], rY[2 * k + 1] = (words[k] << 16).bitcast(Float32), (words[k] & ~0xFFFF).bitcast(Float32)""",
}


def test_a_pair_of_bfloat16_is_widened_by_two_instructions_or_three(tmp_path):
    """references/elementwise.md"""
    found = {}
    for name, text in WIDEN.items():
        path = tmp_path / f"{name}.py"
        path.write_text(PAIRS.replace("WIDEN", text))
        command = [sys.executable, ROOT / "scripts/inspect_kernel.py", path, "--arch", "sm_90a", "--format", "json"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
        sass = json.loads(run.stdout)["kernels"][0]["sass"]
        found[name] = sum(n for code, n in sass.items() if code.split(".")[0] in ("SHF", "PRMT", "LOP3", "IMAD"))

    assert found["to"] - found["words"] == 4, found


POINTERS = """
import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_stream, make_ptr


@cute.kernel
def ones(p: cute.Pointer):
    cute.make_tensor(p, cute.make_layout(32))[cute.arch.thread_idx()[0]] = 1.0


@cute.jit
def host(p: cute.Pointer, stream: cuda.CUstream):
    ones(p).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)


pointer = make_ptr(cutlass.Float32, 16, cute.AddressSpace.gmem, assumed_align=16)
cute.compile(host, pointer, make_fake_stream(use_tvm_ffi_env_stream=True), options="--enable-tvm-ffi")
"""


def test_the_environments_stream_wants_a_tensor(tmp_path):
    """references/compilation.md, and the table of references/troubleshooting.md"""
    run = ran(POINTERS, tmp_path)

    assert run.returncode != 0
    assert "EnvStream cannot be detected" in run.stdout + run.stderr
    assert "EnvStream cannot be detected" in (ROOT / "references/troubleshooting.md").read_text()


HALVES = """
@cute.jit
def greatest(values):
    while CONDITION:
        values = [cutlass.max(a, b) for a, b in zip(values[::2], values[1::2])]
    return values[0]

@cute.kernel
def kernel(mX: cute.Tensor):
    mX[0] = greatest([mX[0], mX[1], mX[2], mX[3]])

@cute.jit
def launch(mX: cute.Tensor):
    kernel(mX).launch(grid=(1, 1, 1), block=(32, 1, 1))

x = make_fake_tensor(cutlass.Int32, (32,), stride=(1,))
print(cute.compile(launch, x, options="--keep-ptx").__ptx__.count("max.s32"))
"""


@pytest.mark.parametrize(("condition", "undecorated", "compiles"), [
    ("len(values) > 1", False, False), ("cutlass.const_expr(len(values) > 1)", False, True),
    ("len(values) > 1", True, True)])  # fmt: skip
def test_python_runs_a_loop_over_a_list_where_it_is_told(condition, undecorated, compiles, tmp_path):
    """references/control-flow.md"""
    program = HALVES.replace("CONDITION", condition)
    run = ran(program.replace("@cute.jit\n", "", 1) if undecorated else program, tmp_path)

    assert (run.stdout.strip() == "3") == compiles, run.stderr
    assert compiles or "TYPE_UNSTABLE_JOIN" in run.stdout + run.stderr
