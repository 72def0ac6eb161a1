"""Triton on CPU tensors: every program writes one flag that all of them agree on, and its own rows twice.

catalogue: tricky because several programs store one value, and a row is stored twice
seen at: own idea
expect: PASS
needs: cpu
check: race
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"odd": {"rows": 33, "columns": 21}, "one": {"rows": 1, "columns": 5}}


def get_inputs(rows=40, columns=48):
    return [torch.randn(rows, columns)]


def reference_fn(x):
    return torch.softmax(x, -1), torch.full((1,), len(x), dtype=torch.int32)


@triton.jit
def _softmax(x, out, done, rows, columns, COLUMNS: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        at = row * columns + tl.arange(0, COLUMNS)
        inside = tl.arange(0, COLUMNS) < columns
        values = tl.load(x + at, mask=inside, other=float("-inf"))
        weights = tl.exp(values - tl.max(values, 0))
        tl.store(out + at, weights, mask=inside)
        tl.store(out + at, tl.load(out + at, mask=inside, other=0.0) / tl.sum(weights, 0), mask=inside)
    tl.store(done, rows)


def kernel_fn(x):
    out, done = torch.empty_like(x), torch.zeros(1, dtype=torch.int32)
    _softmax[(min(len(x), 7),)](x, out, done, *x.shape, COLUMNS=triton.next_power_of_2(x.shape[1]))
    return out, done
