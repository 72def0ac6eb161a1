"""Two kernels with programmatic dependent launch: the second never waits for what the first still writes.

catalogue: D11
seen at: cccl#9134 and #5249
expect: WRONG_RESULT | CHEATING
needs: nvcc
check: races
"""

import functools

import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void first(const float* x, float* half, int n) {
    asm volatile("griddepcontrol.launch_dependents;");
    for (int spin = 0; spin < 64; ++spin) __nanosleep(1000);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) half[i] = 0.5f * x[i];
}
__global__ void second(const float* half, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = half[i] + 1.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto half = torch::empty_like(x), out = torch::empty_like(x);
    int n = x.numel();
    auto stream = at::cuda::getCurrentCUDAStream();
    first<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), half.data_ptr<float>(), n);
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((n + 255) / 256);
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, second, (const float*)half.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""
INCLUDE = "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n"


def reference_fn(x):
    return 0.5 * x + 1


def get_inputs(n=1 << 15, device="cuda"):
    return [torch.randn(n, device=device)]


@functools.cache
def _module():
    return load_inline(
        "d11_without_wait",
        INCLUDE + "torch::Tensor run(torch::Tensor x);",
        INCLUDE + CUDA,
        functions=["run"],
        extra_cuda_cflags=["-arch=sm_90"],
    )


def kernel_fn(x):
    return _module().run(x)
