"""A C++ extension that launches on the current stream and checks the launch.

catalogue: tricky because nvcc runs for a minute at the first call
seen at: issue list (compile on first call)
expect: PASS
needs: nvcc
check: stream
"""

import functools

import torch
from torch.utils.cpp_extension import load_inline

TEST_CASES = {"odd": {"n": 100_003}}
CUDA = """
__global__ void add(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
torch::Tensor added(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    int n = x.numel();
    add<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""
INCLUDE = "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAException.h>\n"
DECLARATION = "torch::Tensor added(torch::Tensor x, torch::Tensor y);"


def reference_fn(x, y):
    return x + y


def get_inputs(n=1 << 22, device="cuda"):
    return [torch.randn(n, device=device), torch.randn(n, device=device)]


@functools.cache
def _module():
    return load_inline("nvcc_inline_add", INCLUDE + DECLARATION, INCLUDE + CUDA, functions=["added"])


def kernel_fn(x, y):
    return _module().added(x, y)
