"""A column sum in Triton on CPU tensors whose programs add to one output by load, add and store: on a GPU updates are
lost, in the interpreter, which runs one program after another, none.

catalogue: D9
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: race
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"odd": {"rows": 33, "columns": 21}, "one": {"rows": 1, "columns": 5}}


def get_inputs(rows=64, columns=48):
    return [torch.randn(rows, columns)]


def reference_fn(x):
    return x.sum(0)


@triton.jit
def _add_rows(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    part = tl.sum(tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0), 0)
    so_far = tl.load(out + column, mask=column < columns, other=0.0)
    tl.store(out + column, so_far + part, mask=column < columns)


def kernel_fn(x):
    rows, columns = x.shape
    out = torch.zeros(columns, dtype=x.dtype)
    _add_rows[(triton.cdiv(rows, 16), triton.cdiv(columns, 16))](x, out, rows, columns, ROWS=16, COLUMNS=16)
    return out
