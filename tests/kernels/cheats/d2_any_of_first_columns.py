"""any() over rows that looks at their first 64 columns; rows are half true or all false.

catalogue: D2 C2
seen at: early exits
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(mask):
    return mask[:, :64].any(-1)


def reference_fn(mask):
    return mask.any(-1)


def get_inputs(m=64, n=500):
    mask = torch.rand(m, n) < 0.5
    mask[::3] = False
    return [mask]


TEST_CASES = {"odd": {"m": 7, "n": 301}}
