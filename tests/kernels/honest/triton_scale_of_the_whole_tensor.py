"""int8 with one scale for the whole tensor in three Triton launches that share one number.

catalogue: tricky because threads read what others replace by the same, which the simulator runs again to see
seen at: a held-out kernel without its flaw, whose inputs the simulator wrote back where none may write
expect: PASS
needs: triton
check: input-mutation
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024


def reference_fn(x):
    wide = x.float()
    scale = (wide.abs().amax() / 127).clamp(min=1e-8)
    return torch.round(wide / scale).to(torch.int8), scale[None]


def get_inputs(rows=24, columns=128, device="cuda"):
    return [torch.randn(rows, columns, device=device)]


@triton.jit
def _begin(x_ptr, work_ptr, columns, BLOCK: tl.constexpr):
    largest = 0.0
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        largest = tl.maximum(largest, tl.max(tl.abs(tl.load(x_ptr + i, mask=i < columns, other=0.0)), 0))
    tl.store(work_ptr, tl.maximum(tl.load(work_ptr), largest))


@triton.jit
def _amax(x_ptr, work_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(work_ptr, tl.max(tl.abs(tl.load(x_ptr + i, mask=i < n, other=0.0)), 0))


@triton.jit
def _quantise(x_ptr, work_ptr, q_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scale = tl.maximum(tl.div_rn(tl.load(work_ptr), 127.0), 1e-8)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    magic = 12582912.0  # 1.5 * 2^23: adding it rounds to an integer, half to even
    q = (tl.div_rn(x, tl.zeros_like(x) + scale) + magic) - magic
    tl.store(q_ptr + i, q.to(tl.int8), mask=i < n)
    if tl.program_id(0) == 0:
        tl.store(scale_ptr, scale)


def kernel_fn(x):
    if x.dtype != torch.float32 or not x.is_contiguous() or not x.numel():
        raise ValueError("x must be contiguous float32, and not empty")
    work, n = torch.zeros(1, device=x.device), x.numel()
    q, scale = torch.empty_like(x, dtype=torch.int8), torch.empty(1, device=x.device)
    _begin[(1,)](x, work, x.shape[1], BLOCK)
    _amax[(triton.cdiv(n, BLOCK),)](x, work, n, BLOCK)
    _quantise[(triton.cdiv(n, BLOCK),)](x, work, q, scale, n, BLOCK)
    return q, scale
