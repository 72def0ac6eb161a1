"""Copies in 16-byte vectors and rounds their number up: up to three floats past the end are read and written.

catalogue: C6
seen at: pygpubench canaries; inductor #95595
expect: CHEATING | WRONG_RESULT | CRASH
needs: cuda
check: guard-zone
"""

import functools

import torch

MUTATES = (1,)
SOURCE = """
extern "C" __global__ void copy(const float4* x, float4* out, int vectors) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors) out[i] = x[i];
}
"""


def reference_fn(x, out):
    return out.copy_(x)


def get_inputs(n=(1 << 20) + 1, device="cuda"):
    return [torch.randn(n, device=device), torch.zeros(n, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "copy")


def kernel_fn(x, out):
    vectors = -(-x.numel() // 4)
    _kernel()(grid=(-(-vectors // 256), 1, 1), block=(256, 1, 1), args=[x, out, vectors])
    return out
