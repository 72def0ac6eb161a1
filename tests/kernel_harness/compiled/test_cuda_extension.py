"""CUDA extensions without a GPU: one is built by nvcc, runs on CPU memory, and its launches are simulated."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from kernel_harness import simulation
from kernel_harness.api import compile_errors
from kernel_harness.compiled import cuda_extension
from kernel_harness.compiled.cuda_extension import HostCodeError
from kernel_harness.compiled.cuda_source import CudaSourceError, nvcc

ROOT = Path(__file__).resolve().parents[3]
builds = [
    pytest.mark.compile,
    pytest.mark.skipif(bool(shutil.which("nvidia-smi")), reason="on a GPU PyTorch builds the extension for it"),
    pytest.mark.skipif(not (nvcc() and shutil.which("ninja")), reason="needs nvcc and ninja"),
]

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

template <typename T> __global__ void scaled(const T* x, T* y, int n, float s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * s;
}
__global__ void reversed(const float* x, float* y, int n) {
  extern __shared__ float held[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) held[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = held[n - 1 - i];
}
__global__ void counted(const float* x, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) atomicAdd(count, 1);
}
__global__ void __cluster_dims__(2, 1, 1) ranks(int* y) {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) y[blockIdx.x] = rank;
}

torch::Tensor scale(torch::Tensor x, double s, int64_t extra) {  // extra: elements that are not there
  TORCH_CHECK(x.type().is_cuda() && x.device().is_cuda() && x.device().type() == torch::kCUDA, "x must be on a GPU");
  const at::cuda::OptionalCUDAGuard guard(at::device_of(x));
  auto y = torch::empty(x.sizes(), torch::dtype(x.dtype()).device(torch::kCUDA));
  int n = x.numel() + extra;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scaled<scalar_t><<<(n + 63) / 64, 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n, s);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
torch::Tensor reverse(torch::Tensor x, bool allowed) {
  auto y = torch::empty_like(x);
  int bytes = x.numel() * sizeof(float);
  if (allowed) AT_CUDA_CHECK(cudaFuncSetAttribute(reversed, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  reversed<<<1, 128, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
torch::Tensor positive(torch::Tensor x, bool cleared) {  // counts into scratch memory of its own
  int* scratch;
  AT_CUDA_CHECK(cudaMalloc(&scratch, sizeof(int)));
  if (cleared) AT_CUDA_CHECK(cudaMemsetAsync(scratch, 0, sizeof(int), at::cuda::getCurrentCUDAStream()));
  counted<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), scratch, x.numel());
  auto y = torch::empty({}, torch::dtype(torch::kInt32).device(x.device()));
  AT_CUDA_CHECK(cudaMemcpyAsync(y.data_ptr<int>(), scratch, sizeof(int), cudaMemcpyDeviceToDevice));
  AT_CUDA_CHECK(cudaFree(scratch));
  return y;
}
void scale_all(std::vector<torch::Tensor> all, double s) {
  for (auto& x : all) scaled<float><<<1, 64>>>(x.data_ptr<float>(), x.data_ptr<float>(), x.numel(), s);
}
__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int calls;
__global__ void weighted(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] * weights[threadIdx.x];
  if (threadIdx.x == 0) ++calls;
}
torch::Tensor weigh(torch::Tensor x, double third) {
  float value = third;
  AT_CUDA_CHECK(cudaMemcpyToSymbol(weights, &value, sizeof(float), 2 * sizeof(float)));
  auto y = torch::empty_like(x);
  weighted<<<1, 4>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
int64_t times() {
  int count;
  AT_CUDA_CHECK(cudaMemcpyFromSymbol(&count, calls, sizeof(int)));
  return count;
}
torch::Tensor cluster_ranks() {
  auto y = torch::zeros({4}, torch::dtype(torch::kInt32).device(torch::kCUDA));
  ranks<<<4, 32>>>(y.data_ptr<int>());
  return y;
}
int64_t multiprocessors() { return at::cuda::getCurrentDeviceProperties()->multiProcessorCount; }
torch::Tensor named(torch::Tensor x) {
  TORCH_CHECK(x.device().type() == c10::DeviceType::CUDA, "x must be on a GPU");
  return x;
}
"""
DECLARED = """
torch::Tensor scale(torch::Tensor x, double s, int64_t extra);
torch::Tensor reverse(torch::Tensor x, bool allowed);
torch::Tensor positive(torch::Tensor x, bool cleared);
void scale_all(std::vector<torch::Tensor> all, double s);
torch::Tensor weigh(torch::Tensor x, double third);
int64_t times();
torch::Tensor cluster_ranks();
int64_t multiprocessors();
torch::Tensor named(torch::Tensor x);
"""
LOADED = f"""
from torch.utils.cpp_extension import load_inline
import torch
names = ["weigh", "times", "scale", "scale_all", "reverse", "positive", "cluster_ranks", "multiprocessors", "named"]
module = load_inline("several", {DECLARED!r}, cuda_sources=[{SOURCE!r}], functions=names)
"""
CALLS = {
    "float": "module.scale(torch.arange(100.0), 2.0, 0)[[1, 99]].tolist()",
    "double": "module.scale(torch.arange(100.0, dtype=torch.float64), 0.5, 0)[[1, 99]].tolist()",
    "past the end": "module.scale(torch.arange(128.0), 2.0, 1)[127].item()",
    "shared, not allowed": "module.reverse(torch.arange(20000.0), False)[0].item()",
    "shared": "module.reverse(torch.arange(20000.0), True)[[0, 19999]].tolist()",  # from here on
    "scratch": "module.positive(torch.tensor([1.0, -1.0, 2.0]), True).item()",
    "scratch, not cleared": "bool(module.positive(torch.tensor([1.0]), False) >= 0)",
    "list": "(all := [torch.ones(2), torch.ones(3)], module.scale_all(all, 2.0)) and [x.tolist() for x in all]",
    "constants": "[module.weigh(torch.ones(4), w).tolist() for w in (7.0, 8.0)] + [module.times()]",
    "clusters": "module.cluster_ranks().tolist()",
    "device": "module.multiprocessors()",
    "named": "module.named(torch.zeros(1)).tolist()",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("extensions")


@pytest.fixture(scope="module")
def answers(root):
    """{call: [its answer or error, kinds of findings]}, from a process of its own: the simulator stays in torch."""
    program = textwrap.dedent(f"""
        import json, sys
        from kernel_harness.simulator import driver
        driver.prepare("sm_90a")
        import torch
        answers = {{}}
        with driver.SimulatedDevice(multiprocessors=8) as device:
            exec({LOADED!r})
            for name, call in {CALLS!r}.items():
                device.launches.clear()
                try:
                    answer = eval(call)
                except Exception as error:
                    answer = f"{{type(error).__name__}}: {{error}}"
                answers[name] = [answer, sorted({{f.kind for f in device.findings}}), [f.line for f in device.findings]]
        print(json.dumps(answers))
    """)
    where = {**os.environ, "PYTHONPATH": str(ROOT / "scripts"), "TORCH_EXTENSIONS_DIR": str(root)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=where, timeout=900)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize(("call", "expected"), [
    ("float", [2.0, 198.0]), ("double", [0.5, 49.5]), ("shared", [19999.0, 0.0]), ("scratch", 2),
    ("list", [[2.0, 2.0], [2.0, 2.0, 2.0]]),
    ("clusters", [0, 1, 0, 1]),
    ("constants", [[1.0, 2.0, 7.0, 4.0], [1.0, 2.0, 8.0, 4.0], 2]), ("device", 8)])
class TestRight:
    pytestmark = builds

    def test_its_result_is_the_kernels(self, answers, call, expected):
        assert answers[call] == [expected, [], []]


class TestWrong:
    pytestmark = builds

    def test_an_access_past_the_end_is_found_in_its_line(self, answers):
        _, kinds, lines = answers["past the end"]

        assert kinds == ["out-of-bounds"]
        assert {SOURCE.splitlines()[line - 4] for line in lines} == {"  if (i < n) y[i] = x[i] * s;"}

    def test_scratch_memory_that_nobody_cleared(self, answers):
        assert answers["scratch, not cleared"][1] == ["uninitialised-read"]

    def test_shared_memory_beyond_what_the_host_allowed(self, answers):
        assert answers["shared, not allowed"][1] == ["illegal-launch"]

    def test_host_code_that_asks_for_cuda_by_name_is_undecided(self, answers):
        assert answers["named"][0].startswith("HostCodeError: named asks for a device by its name")


KERNEL = f"""{LOADED}
def kernel_fn(x):
    return module.scale(x, 3.0, 0)

def reference_fn(x):
    return x * 3.0

def get_inputs(n=1000, device="cuda"):
    return [torch.randn(n, device=device)]
"""


def verify(path, **where):
    command = [sys.executable, str(ROOT / "scripts/verify_kernel.py"), str(path), "--level", "quick"]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, env={**os.environ, **where})


class TestVerified:
    pytestmark = builds

    def test_a_kernel_file_is_simulated_for_one_target(self, answers, root, tmp_path):
        path = tmp_path / "kernel.py"
        path.write_text(KERNEL)

        run = verify(path, TORCH_EXTENSIONS_DIR=str(root))

        assert run.returncode == 0, run.stdout + run.stderr
        assert "verdict=SIMULATED" in run.stdout.splitlines()[-1]
        assert {word for word in run.stdout.split() if word.startswith("arch=")} == {"arch=sm_90a"}
        (folder,) = root.glob("simulated-*/*")  # built once, by the fixture
        known = subprocess.run(["ninja", "-t", "deps", "cuda.cuda.o"], cwd=folder, capture_output=True, text=True)
        assert "simulated_cuda.h" in known.stdout  # a header that changes has it built again


@pytest.mark.cpu
@pytest.mark.skipif(bool(shutil.which("nvidia-smi")), reason="on a GPU PyTorch builds the extension for it")
def test_without_the_tools_a_file_is_undecided_and_says_what_is_missing(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)

    run = verify(path, CUDA_HOME=str(tmp_path), PATH=str(tmp_path))

    assert run.returncode == 6, run.stdout + run.stderr
    assert "an extension (load_inline, load) needs nvcc and ninja" in run.stdout


@pytest.mark.cpu
def test_a_failed_build_is_told_in_the_compilers_words(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_extension, "nvcc", lambda: "/usr/local/cuda/bin/nvcc")
    monkeypatch.setattr(cuda_extension, "_runtime_library", lambda folder: folder)
    told = f"""Error building extension 'k': [1/2] /usr/bin/nvcc -DTORCH_EXTENSION_NAME=k -c {tmp_path}/cuda.cu
FAILED: cuda.cuda.o
/usr/bin/nvcc -DTORCH_EXTENSION_NAME=k -c {tmp_path}/cuda.cu
{tmp_path}/cuda.cu(10): error: identifier "n" is undefined
      y[i] = n;
ninja: build stopped: subcommand failed."""

    def build(**_):
        raise RuntimeError(told)

    with pytest.raises(CudaSourceError) as raised:
        cuda_extension.Build("sm_90a", "k", "", "")._library(tmp_path, build, {})

    assert str(raised.value) == 'k is not built:\ncuda.cu(10): error: identifier "n" is undefined\n      y[i] = n;'
    assert compile_errors.is_compiling(raised.value)


@pytest.mark.cpu
def test_refused_extensions_say_so_when_they_are_called(monkeypatch):
    from torch.utils import cpp_extension

    monkeypatch.setattr(cpp_extension, "load_inline", lambda name, *_, **__: f"built {name}")
    monkeypatch.setattr(cpp_extension, "load", lambda name, *_, **__: f"built {name}")
    cuda_extension.refuse()

    module = cpp_extension.load_inline("with CUDA", "", cuda_sources="__global__ void f() {}")
    with pytest.raises(HostCodeError) as raised:
        module.f()
    assert simulation.cannot(raised.value)
    assert not hasattr(module, "__path__")
    with pytest.raises(HostCodeError):
        cpp_extension.load("files", ["host.cpp", "device.cu"]).f()
    assert cpp_extension.load_inline("host", "int f();") == "built host"
    assert cpp_extension.load("host", ["host.cpp"]) == "built host"
