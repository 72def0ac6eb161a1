"""A split sum in Triton: every program adds its part by load, add and store instead of an atomic.

catalogue: D9
seen at: survey row D9 (races); split-K without atomics
expect: WRONG_RESULT
needs: triton
check: races
"""

import torch
import triton
import triton.language as tl


def reference_fn(x):
    return x.sum(dim=0)


def get_inputs(rows=4096, cols=1024, device="cuda"):
    return [torch.rand(rows, cols, device=device)]


@triton.jit
def _column_sum(x_ptr, out_ptr, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    part = tl.sum(tl.load(x_ptr + row[:, None] * cols + col[None, :]), axis=0)
    tl.store(out_ptr + col, tl.load(out_ptr + col) + part)


def kernel_fn(x):
    rows, cols = x.shape
    out = torch.zeros(cols, device=x.device)
    _column_sum[(rows // 32, cols // 128)](x, out, cols, ROWS=32, COLS=128)
    return out
