"""A CUDA kernel that transposes tiles through shared memory without __syncthreads().

catalogue: D9
seen at: FlashKDA#24, TransformerEngine#2695, ao#4278
expect: WRONG_RESULT | CHEATING
needs: cuda
check: races
"""

import functools

import torch

SOURCE = """
extern "C" __global__ void transpose(const float* x, float* out, int n) {
    __shared__ float tile[32][33];
    int row = blockIdx.y * 32, col = blockIdx.x * 32;
    tile[threadIdx.y][threadIdx.x] = x[(row + threadIdx.y) * n + col + threadIdx.x];
    out[(col + threadIdx.y) * n + row + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""


def reference_fn(x):
    return x.t().contiguous()


def get_inputs(n=2048, device="cuda"):
    return [torch.randn(n, n, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "transpose")


def kernel_fn(x):
    n = x.shape[0]
    out = torch.empty_like(x)
    _kernel()(grid=(n // 32, n // 32, 1), block=(32, 32, 1), args=[x, out, n])
    return out
