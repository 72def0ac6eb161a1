"""A Triton matrix product of float32 operands with tl.dot's default precision, which is TF32.

catalogue: D7
seen at: KernelBench static warning; kernelbench.com DEVLOG 2026-06-14
expect: WRONG_RESULT
needs: triton
check: precision
"""

import torch
import triton
import triton.language as tl


def reference_fn(a, b):
    return a @ b


def get_inputs(m=256, n=256, k=512, device="cuda"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


@triton.jit
def _matmul(a_ptr, b_ptr, c_ptr, N, K, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for first in range(0, K, BLOCK):
        inner = first + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + col[None, :])
        total += tl.dot(a, b, input_precision="tf32")
    tl.store(c_ptr + row[:, None] * N + col[None, :], total)


def kernel_fn(a, b):
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty(m, n, device=a.device)
    _matmul[(m // 64, n // 64)](a, b, out, n, k, BLOCK=64)
    return out
