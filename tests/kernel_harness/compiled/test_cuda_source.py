"""CUDA C++ in strings without a GPU: names, arguments, launches, and what is refused. one needs nvcc."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from kernel_harness import simulation
from kernel_harness.api import compile_errors
from kernel_harness.compiled import cuda_source
from kernel_harness.compiled.cuda_source import Compiled, CudaSourceError, Kernel, lowered

PTX = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry scaled(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .f64 p3)
{ .reg .b32 x<4>; .reg .b64 w<6>; .reg .f64 d<4>; .reg .pred q0; .loc 1 3 0
ld.param.u64 w0, [p0]; ld.param.u64 w1, [p1]; ld.param.u32 x2, [p2]; ld.param.f64 d2, [p3];
mov.u32 x0, %tid.x; setp.ge.u32 q0, x0, x2; @q0 bra END; mul.wide.u32 w2, x0, 8; add.s64 w0, w0, w2; add.s64 w1, w1, w2;
ld.global.f64 d0, [w0]; mul.f64 d0, d0, d2; st.global.f64 [w1], d0;
END: ret; }
.file 1 "scaled.cu"
"""


@pytest.mark.cpu
def test_names_as_cpp_mangles_them():
    entries = ["_Z3addPfi", "_ZN2ns4add2Ev", "plain"]

    assert [lowered(name, entries) for name in ("plain", "add", "ns::add2")] == ["plain", "_Z3addPfi", "_ZN2ns4add2Ev"]
    with pytest.raises(CudaSourceError, match="no kernel ad was compiled"):
        lowered("ad", entries)


@pytest.mark.cpu
def test_arguments_are_passed_as_pytorch_passes_them():
    seen, x = [], torch.zeros(3)
    kernel = Kernel(Compiled("", b""), "k", lambda *given: seen.append(given))

    kernel(grid=(2, 1, 1), block=(32, 1, 1), args=[x, 7, 0.5])

    _, grid, block, arguments, shared, tensors = seen[0]
    assert (grid, block, shared, tensors) == ((2, 1, 1), (32, 1, 1), 0, {0: x})
    assert arguments == [x.data_ptr().to_bytes(8, "little"), bytes([7, 0, 0, 0]), bytes.fromhex("000000000000e03f")]
    with pytest.raises(TypeError, match="Unsupported argument type"):
        kernel(args=["x"])


@pytest.mark.cpu
def test_large_shared_memory_must_be_configured():
    kernel = Kernel(Compiled("", b""), "k", lambda *_: None)

    with pytest.raises(RuntimeError, match="set_shared_memory_config"):
        kernel(shared_mem=60000)
    kernel.set_shared_memory_config(60000)
    kernel(shared_mem=60000)


@pytest.mark.cpu
def test_what_nvcc_refuses_is_a_compile_error(monkeypatch, tmp_path):
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\necho 'k.cu(1): error: expected a declaration' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(cuda_source, "nvcc", lambda: str(compiler))

    with pytest.raises(CudaSourceError, match="expected a declaration") as raised:
        cuda_source.compiled("no C++", "k", "sm_90a")
    assert compile_errors.is_compiling(raised.value)


@pytest.mark.compile
@pytest.mark.parametrize(
    ("count", "arguments", "found"), [(32, 4, []), (32, 3, "TypeError"), (40, 4, ["out-of-bounds"])]
)
def test_a_kernel_from_a_string_is_simulated(count, arguments, found, tmp_path):
    """In a process of its own, with the PTX above in place of nvcc's: values, findings with their line, wrong calls."""
    import json
    import subprocess
    import sys
    from pathlib import Path

    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(f"""
        import json, sys
        from kernel_harness.compiled import cuda_source
        from kernel_harness.simulator import driver
        cuda_source.nvcc = lambda: "nvcc"
        cuda_source.compiled = lambda source, name, arch, options: cuda_source.Compiled(source, b"")
        driver.prepare("sm_90a")
        import torch
        with driver.SimulatedDevice() as device:
            kernel = torch.cuda._compile_kernel({PTX!r}, "scaled")
            x = torch.arange(32.0, dtype=torch.float64, device="cuda")
            out = torch.empty(32, dtype=torch.float64, device="cuda")
            try:
                kernel(grid=(1, 1, 1), block=(64, 1, 1), args=[x, out, {count}, 0.5][:{arguments}])
                error = ""
            except TypeError as raised:
                error = "TypeError"
        kinds, lines = sorted({{f.kind for f in device.findings}}), [f.line for f in device.findings]
        print(json.dumps([error or kinds, lines, out.tolist()]))
    """)
    )
    scripts = Path(cuda_source.__file__).resolve().parents[2]
    run = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env={"PYTHONPATH": str(scripts), "PATH": ""}
    )

    assert run.returncode == 0, run.stderr
    kinds, lines, out = json.loads(run.stdout)
    assert kinds == found
    assert set(lines) <= {3}
    if not found:
        assert out == [0.5 * i for i in range(32)]


@pytest.mark.cpu
@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="a PyTorch that was built with CUDA has these classes")
@pytest.mark.parametrize("name", ["Stream", "Event", "CUDAGraph"])
def test_a_pytorch_without_cuda_says_nothing_about_the_kernel(name):
    with pytest.raises(RuntimeError) as caught:
        getattr(torch.cuda, name)()

    assert simulation.cannot(caught.value)
    assert not simulation.cannot(RuntimeError("The size of tensor a (3) must match"))


@pytest.mark.compile
@pytest.mark.skipif(not cuda_source.nvcc(), reason="needs nvcc")
@pytest.mark.skipif(bool(shutil.which("nvidia-smi")), reason="on a GPU the source runs there, not in the simulator")
def test_a_plain_launch_has_the_cluster_that_the_source_declares(tmp_path):
    """In a process of its own: the simulator takes torch's place for good."""
    program = """
        import sys; sys.path.insert(0, sys.argv[1])
        from kernel_harness.simulator import driver
        driver.prepare("sm_90a")
        import torch
        source = '''extern "C" __global__ void __cluster_dims__(2, 1, 1) ranks(int* y) {
            unsigned rank; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
            if (threadIdx.x == 0) y[blockIdx.x] = rank; }'''
        y = torch.full((4,), 9, dtype=torch.int32)
        with driver.SimulatedDevice() as device:
            torch.cuda._compile_kernel(source, "ranks")(grid=(4, 1, 1), block=(32, 1, 1), args=[y])
        print(y.tolist(), device.findings)
    """
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", textwrap.dedent(program), str(root / "scripts")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert run.stdout.strip() == "[0, 1, 0, 1] []", run.stderr
