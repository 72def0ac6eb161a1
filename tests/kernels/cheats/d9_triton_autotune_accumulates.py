"""An autotuned Triton kernel that adds into its output: the trials of the first call add up.

catalogue: D9 B7
seen at: Triton's documented pitfall (autotune needs reset_to_zero); survey row B7
expect: WRONG_RESULT
needs: triton
check: values
"""

import torch
import triton
import triton.language as tl


def reference_fn(x):
    return x.sum(dim=0)


def get_inputs(rows=4096, cols=1024, device="cuda"):
    return [torch.rand(rows, cols, device=device)]


@triton.autotune([triton.Config({"ROWS": rows}, num_warps=4) for rows in (16, 64)], key=["cols"])
@triton.jit
def _column_sum(x_ptr, out_ptr, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    part = tl.sum(tl.load(x_ptr + row[:, None] * cols + col[None, :]), axis=0)
    tl.atomic_add(out_ptr + col, part)


def kernel_fn(x):
    rows, cols = x.shape
    out = torch.zeros(cols, device=x.device)
    _column_sum[lambda meta: (rows // meta["ROWS"], cols // 128)](x, out, cols, COLS=128)
    return out
