"""A kernel file in Triton: an element-wise kernel, an autotuned matrix product, and Welford's moments.

The lanes of a warp merge moments in different orders, and Triton lets all of them write their sum to one address.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x, y, out, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * scale + tl.load(y + i, mask=i < n), mask=i < n)


@triton.autotune(configs=[triton.Config({"TILE": 64}, num_warps=4), triton.Config({"TILE": 32}, num_warps=4)], key=[])
@triton.jit
def matmul_kernel(c, a, b, M, N, K, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    acc = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, K, 32):
        k = start + tl.arange(0, 32)
        acc = tl.dot(tl.load(a + rows[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + columns[None, :]), acc)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def merge(mean, squares, count, other_mean, other_squares, other_count):
    total = count + other_count
    share = tl.where(total == 0, 0.0, other_count / total)
    gap = other_mean - mean
    return mean + gap * share, squares + other_squares + gap * gap * count * share, total


@triton.jit
def moments_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    mean, squares, count = tl.reduce((value, tl.zeros_like(value), tl.where(i < n, 1.0, 0.0)), 0, merge)
    tl.store(out, mean)
    tl.store(out + 1, tl.clamp(squares / count, -8.0, 8.0))


def get_inputs(n=1000, device="cuda"):
    a, b = torch.randn(128, 64, device=device), torch.randn(64, 64, device=device)
    return [torch.randn(n, device=device), torch.randn(n, device=device), a.half(), b.half()]


def reference_fn(x, y, a, b):
    return x * 2.5 + y, a.float() @ b.float(), torch.stack((x.mean(), x.var(unbiased=False)))


def kernel_fn(x, y, a, b):
    out = torch.empty_like(x)
    axpy_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), 2.5, BLOCK=256)
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    matmul_kernel[lambda meta: (M // meta["TILE"], N // meta["TILE"])](c, a, b, M, N, K)
    moments = torch.empty(2, device=x.device)
    moments_kernel[(1,)](x, moments, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return out, c, moments
