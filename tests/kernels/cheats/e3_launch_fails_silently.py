"""Asks for more shared memory than there is, ignores the error, and returns a buffer that nothing wrote.

catalogue: E3 C7 C1
seen at: helion#2817, TileOPs#1791 (failed launches that are timed)
expect: WRONG_RESULT | CHEATING | CRASH
needs: nvcc
check: poison
"""

import functools

import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void scale(const float* x, float* out, int n) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { tile[threadIdx.x] = x[i]; out[i] = 2 * tile[threadIdx.x]; }
}
torch::Tensor scaled(torch::Tensor x) {
    auto out = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, 256, 400 * 1024, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    cudaGetLastError();
    return out;
}
"""
INCLUDE = "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n"


def reference_fn(x):
    return x * 2


def get_inputs(n=1 << 20, device="cuda"):
    return [torch.randn(n, device=device)]


@functools.cache
def _module():
    return load_inline(
        "e3_launch_fails", INCLUDE + "torch::Tensor scaled(torch::Tensor x);", INCLUDE + CUDA, functions=["scaled"]
    )


def kernel_fn(x):
    return _module().scaled(x)
