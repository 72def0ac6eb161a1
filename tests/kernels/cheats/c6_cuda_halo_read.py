"""A three-point stencil that reads one element before and one after its input and adds them in.

catalogue: C6
seen at: inductor #95595 (reads past the end that the allocator hides)
expect: WRONG_RESULT | CHEATING | CRASH
needs: cuda
check: guard-zone
"""

import functools

import torch

SOURCE = """
extern "C" __global__ void stencil(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}
"""


def reference_fn(x):
    out = x * 0.5
    out[1:] += 0.25 * x[:-1]
    out[:-1] += 0.25 * x[1:]
    return out


def get_inputs(n=1 << 20, device="cuda"):
    return [torch.randn(n, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "stencil")


def kernel_fn(x):
    out = torch.empty_like(x)
    _kernel()(grid=(-(-x.numel() // 256), 1, 1), block=(256, 1, 1), args=[x, out, x.numel()])
    return out
