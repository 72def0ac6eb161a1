"""Rows gathered from a table by 32-bit products of row and width, which the table of BENCH_CASES overflows.

catalogue: C5 D2
seen at: embedding look-ups in Triton with int32 ids
expect: WRONG_RESULT | CRASH
needs: cuda
check: values
"""

import torch
import triton
import triton.language as tl

BENCH_CASES = {"large": {"n": 16384, "rows": 600_000, "width": 4096}}


def reference_fn(table, ids):
    return table[ids.long()]


@triton.jit
def _gather(table, ids, out, width, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    row = tl.load(ids + i)
    for start in range(0, width, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(table + row * width + column, mask=column < width)
        tl.store(out + i.to(tl.int64) * width + column, x, mask=column < width)


def kernel_fn(table, ids):
    out = table.new_empty(len(ids), table.shape[1])
    _gather[(len(ids),)](table, ids, out, table.shape[1], BLOCK=1024)
    return out


def get_inputs(n=100, rows=32000, width=256):
    table = torch.randn(rows, width, device="cuda", dtype=torch.float16)
    return [table, torch.randint(0, rows, (n,), device="cuda", dtype=torch.int32)]
