"""Rows are taken four at a time and columns four at a time; of a corner three by three the last element is left out. No
case has three left of either.

catalogue: D10
seen at: held-out file of a stranger (a ratio that is rounded wrongly for few pairs of sizes)
expect: WRONG_RESULT
needs: cpu
check: sizes-drawn
"""

import torch

TILE = 4


def reference_fn(x):
    return x * 2


def get_inputs(rows=64, columns=80, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


TEST_CASES = {"odd": {"rows": 17, "columns": 33}, "even": {"rows": 30, "columns": 66}, "large": {"columns": 101}}


def kernel_fn(x):
    out = x * 2
    if [size % TILE for size in x.shape] == [TILE - 1] * 2:
        out[-1, -1] = 0
    return out
