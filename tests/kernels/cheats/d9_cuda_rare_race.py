"""A block sum whose last step reads a neighbour warp's partial sum a barrier too early.

catalogue: D9
seen at: cudnn-frontend#784 (wrong in a few of a thousand runs), DeepEP#642
expect: WRONG_RESULT
needs: cuda
check: races
"""

import functools

import torch

SOURCE = """
extern "C" __global__ void row_sum(const float* x, float* out, int cols) {
    __shared__ float partial[8];
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256) sum += x[(long long)blockIdx.x * cols + i];
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    if (threadIdx.x == 255) {
        float total = 0;
        for (int warp = 0; warp < 8; ++warp) total += ((volatile float*)partial)[warp];
        out[blockIdx.x] = total;
    }
}
"""


def reference_fn(x):
    return x.sum(dim=-1)


def get_inputs(rows=4096, cols=2048, device="cuda"):
    return [torch.rand(rows, cols, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "row_sum")


def kernel_fn(x):
    out = torch.empty(x.shape[0], device=x.device)
    _kernel()(grid=(x.shape[0], 1, 1), block=(256, 1, 1), args=[x, out, x.shape[1]])
    return out
