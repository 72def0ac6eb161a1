"""Pads a tile in shared memory to 256 columns and never clears the padding that it then sums up.

catalogue: C7 C1
seen at: wafer (shared memory over-requested and silently garbage, 104x)
expect: WRONG_RESULT | CHEATING
needs: cuda
check: races
"""

import functools

import torch

SOURCE = """
extern "C" __global__ void row_max(const float* x, float* out, int cols) {
    __shared__ float tile[256];
    if (threadIdx.x < cols) tile[threadIdx.x] = x[blockIdx.x * cols + threadIdx.x];
    __syncthreads();
    for (int step = 128; step; step /= 2) {
        if (threadIdx.x < step) tile[threadIdx.x] = fmaxf(tile[threadIdx.x], tile[threadIdx.x + step]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}
"""


def reference_fn(x):
    return x.amax(dim=-1)


def get_inputs(rows=8192, cols=200, device="cuda"):
    return [torch.randn(rows, cols, device=device) - 5]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "row_max")


def kernel_fn(x):
    out = torch.empty(x.shape[0], device=x.device)
    _kernel()(grid=(x.shape[0], 1, 1), block=(256, 1, 1), args=[x, out, x.shape[1]])
    return out
