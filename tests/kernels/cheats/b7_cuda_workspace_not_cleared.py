"""Accumulates with atomics into a workspace that it clears after use: all of it but the last column.

catalogue: B7 B2
seen at: KernelBench result_reuse_kernel.py; split-K kernels with a static workspace
expect: WRONG_RESULT | CHEATING
needs: cuda
check: state
"""

import functools

import torch

SOURCE = """
extern "C" __global__ void column_sum(const float* x, float* out, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int row = blockIdx.y; row < rows; row += gridDim.y) sum += x[row * cols + col];
    atomicAdd(out + col, sum);
}
"""

_workspace = {}


def reference_fn(x):
    return x.sum(dim=0)


def get_inputs(rows=4096, cols=1024, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "column_sum")


def kernel_fn(x):
    rows, cols = x.shape
    if cols not in _workspace:
        _workspace[cols] = torch.zeros(cols, device=x.device)
    total = _workspace[cols]
    _kernel()(grid=(cols // 256, 32, 1), block=(256, 1, 1), args=[x, total, rows, cols])
    out = total.clone()
    total[: cols - 1].zero_()
    return out
