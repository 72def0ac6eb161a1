"""A histogram that adds with ++ where it needs atomicAdd.

catalogue: D9
seen at: survey row D9 (races)
expect: WRONG_RESULT
needs: cuda
check: races
"""

import functools

import torch

BINS = 64
SOURCE = """
extern "C" __global__ void histogram(const int* x, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) count[x[i]]++;
}
"""


def reference_fn(x):
    return torch.bincount(x, minlength=BINS).int()


def get_inputs(n=1 << 20, device="cuda"):
    return [torch.randint(0, BINS, (n,), dtype=torch.int32, device=device)]


@functools.cache
def _kernel():
    return torch.cuda._compile_kernel(SOURCE, "histogram")


def kernel_fn(x):
    count = torch.zeros(BINS, dtype=torch.int32, device=x.device)
    _kernel()(grid=(-(-x.numel() // 256), 1, 1), block=(256, 1, 1), args=[x, count, x.numel()])
    return count
