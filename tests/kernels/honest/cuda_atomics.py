"""A column sum with floating-point atomics: two calls differ in the last bits.

catalogue: tricky because the result is not bitwise repeatable
seen at: issue list (split-K rounding, random-order accumulation)
expect: PASS
needs: cuda
check: determinism
"""

import functools

import torch

SOURCE = """
extern "C" __global__ void column_sum(const float* x, float* out, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = 0;
    for (int row = blockIdx.y; row < rows; row += gridDim.y) sum += x[(long long)row * cols + col];
    atomicAdd(out + col, sum);
}
"""


def reference_fn(x):
    return x.sum(dim=0)


def get_inputs(rows=4096, cols=1000, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "column_sum")


def kernel_fn(x):
    rows, cols = x.shape
    out = torch.zeros(cols, device=x.device)
    _kernel()(grid=(-(-cols // 256), 64, 1), block=(256, 1, 1), args=[x, out, rows, cols])
    return out
