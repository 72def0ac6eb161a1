"""A CUDA kernel launched on a grid that is rounded down.

catalogue: C2
seen at: survey row C2; helion#1334
expect: WRONG_RESULT | CHEATING
needs: cuda
check: poison
"""

import functools

import torch

TEST_CASES = {"odd": {"n": 1_000_003}}
SOURCE = """
extern "C" __global__ void square(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * x[i];
}
"""


def reference_fn(x):
    return x * x


def get_inputs(n=1 << 20, device="cuda"):
    return [torch.randn(n, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "square")


def kernel_fn(x):
    out = torch.empty_like(x)
    _kernel()(grid=(x.numel() // 256, 1, 1), block=(256, 1, 1), args=[x, out, x.numel()])
    return out
