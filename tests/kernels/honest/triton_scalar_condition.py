"""A masked row sum whose mask joins a block's condition with a scalar's, as tails of rows and columns are joined.

catalogue: tricky because Triton's interpreter (3.9.0) takes such a mask for int32 and refuses it
seen at: any kernel with ``(columns < n) & (row < m)``
expect: PASS
needs: cpu
check: compile
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"odd": {"rows": 5, "columns": 100}}


def reference_fn(x):
    return x.sum(1)


@triton.jit
def _sum(x, out, rows, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0) * 4, tl.program_id(0) * 4 + 4):
        total = tl.sum(tl.load(x + row * columns + at, mask=(at < columns) & (row < rows), other=0.0), 0)
        last = tl.program_id(0) * 4 + 3
        tl.store(out + row + at * 0, total + at * 0.0, mask=(at == 0) & (row < rows) & (last >= row))


def kernel_fn(x):
    out = x.new_empty(len(x))
    _sum[(triton.cdiv(len(x), 4),)](x, out, *x.shape, BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def get_inputs(rows=8, columns=64):
    return [torch.randn(rows, columns)]
