"""A CUDA kernel compiled at its first call and launched on the current stream, with a bound on every access.

catalogue: tricky because nothing of it is torch, and it allocates with torch.empty
seen at: issue list (compile on first call); survey, "false positives to avoid" (torch.empty)
expect: PASS
needs: cuda
check: poison
"""

import functools

import torch

TEST_CASES = {"odd": {"n": 1_000_003}, "one": {"n": 1}}
SOURCE = """
extern "C" __global__ void axpy(const float* x, const float* y, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = fmaf(2.0f, x[i], y[i]);
}
"""


def reference_fn(x, y):
    return 2 * x + y


def get_inputs(n=1 << 20, device="cuda"):
    return [torch.randn(n, device=device), torch.randn(n, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "axpy")


def kernel_fn(x, y):
    out = torch.empty_like(x)
    _kernel()(grid=(min(-(-x.numel() // 256), 1024), 1, 1), block=(256, 1, 1), args=[x, y, out, x.numel()])
    return out
