"""A C++ extension that launches with <<<grid, block>>> and thereby on the legacy default stream.

catalogue: B5 E1
seen at: Liger-Kernel#1450, SageAttention#380, FlagTree#1129
expect: WRONG_RESULT | CHEATING | CRASH
needs: nvcc
check: stream
"""

import functools

import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void add(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
torch::Tensor added(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    int n = x.numel();
    add<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""
INCLUDE = "#include <torch/extension.h>\n"
DECLARATION = "torch::Tensor added(torch::Tensor x, torch::Tensor y);"


def reference_fn(x, y):
    return x + y


def get_inputs(n=1 << 22, device="cuda"):
    return [torch.randn(n, device=device), torch.randn(n, device=device)]


@functools.cache
def _module():
    return load_inline("b5_legacy_stream", INCLUDE + DECLARATION, INCLUDE + CUDA, functions=["added"])


def kernel_fn(x, y):
    return _module().added(x, y)
