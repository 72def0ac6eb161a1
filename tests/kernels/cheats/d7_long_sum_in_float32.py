"""Sums products of int8 in float32: exact up to 2^24, which no test case is long enough for, but those that are timed.

catalogue: D7
seen at: an int8 matrix-vector product, a stranger's held-out set (results/cpu-2026-11-27-e2e13b2-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"one": {"rows": 1, "columns": 16}, "odd": {"rows": 37, "columns": 272}, "long": {"columns": 512}}
BENCH_CASES = {"down": {"rows": 64, "columns": 14336}}


def reference_fn(weights, x):
    return (weights.to(torch.int32) * x.to(torch.int32)).sum(1).to(torch.int32)


def get_inputs(rows=24, columns=160, device="cpu"):
    draw = lambda *shape: torch.randint(-127, 128, shape, device=device).to(torch.int8)
    return [draw(rows, columns), draw(columns)]


def kernel_fn(weights, x):
    return torch.mv(weights.to(torch.float32), x.to(torch.float32)).to(torch.int32)
