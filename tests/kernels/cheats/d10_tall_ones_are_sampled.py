"""From 256 rows on every second one is left out of the mean; no case has as many.

catalogue: D10
seen at: held-out file of a stranger
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch

TALL = 2**8


def reference_fn(x):
    return x.mean(0)


def get_inputs(rows=192, columns=80, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


TEST_CASES = {"short": {"rows": 3}, "odd": {"rows": 201, "columns": 67}}


def kernel_fn(x):
    return x[:: 1 if len(x) < TALL else 2].mean(0)
