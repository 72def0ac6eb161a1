"""A Triton matrix product split over the inner dimension and summed with atomics into a zeroed float32 buffer.

catalogue: tricky because it is not bitwise repeatable and launches a fill besides its own kernel
seen at: issue list (split-K rounding)
expect: PASS
needs: triton
check: determinism
"""

import torch
import triton
import triton.language as tl


def reference_fn(a, b):
    return a.float() @ b.float()


def get_inputs(m=256, n=256, k=2048, device="cuda"):
    return [
        torch.randn(m, k, device=device, dtype=torch.float16),
        torch.randn(k, n, device=device, dtype=torch.float16),
    ]


@triton.jit
def _matmul(a_ptr, b_ptr, c_ptr, N, K, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for first in range(tl.program_id(2) * BLOCK, K, SPLIT * BLOCK):
        inner = first + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + col[None, :])
        total += tl.dot(a, b)
    tl.atomic_add(c_ptr + row[:, None] * N + col[None, :], total)


def kernel_fn(a, b):
    (m, k), n = a.shape, b.shape[1]
    out = torch.zeros(m, n, device=a.device)
    _matmul[(m // 64, n // 64, 8)](a, b, out, n, k, SPLIT=8, BLOCK=64)
    return out
