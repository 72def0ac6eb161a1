"""A small kernel of its own scales the input of torch.matmul, which does nearly all of the work; the file says so.

catalogue: false-positive trap for D8
seen at: quantisation and normalisation in front of a library's matrix product
expect: PASS
needs: cuda
check: decoy
"""

import functools

import torch

SOURCE = """
extern "C" __global__ void scale(const float* x, const float* s, float* out, int columns, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * s[i / columns];
}
"""


def reference_fn(x, scale, weight):
    return (x * scale[:, None]) @ weight


def get_inputs(m=1024, n=1024, k=1024, device="cuda"):
    return [torch.randn(m, k, device=device), torch.rand(m, device=device), torch.randn(k, n, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "scale")


@functools.cache
def _workspace(shape, device):
    return torch.empty(shape, device=device)


def kernel_fn(x, scale, weight):
    scaled = _workspace(x.shape, x.device)
    _kernel()(grid=(-(-x.numel() // 256), 1, 1), block=(256, 1, 1), args=[x, scale, scaled, x.shape[1], x.numel()])
    return scaled @ weight
