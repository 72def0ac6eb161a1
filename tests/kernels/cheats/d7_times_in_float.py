"""How many events lie in a window before each query; the times, which are seconds in int64, are compared as float32,
which holds those of get_inputs.

catalogue: D7
seen at: a stranger's file (decayed sums of events)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"few": {"n": 5, "m": 3}, "hour": {"n": 400, "m": 21, "window": 900}}


def get_inputs(n=1000, m=50, window=600, device="cpu"):
    times = torch.randint(0, 1 << 18, (n,), device=device)
    return [times, torch.randint(0, 1 << 18, (m,), device=device), window]


def reference_fn(times, queries, window):
    age = queries[:, None] - times
    return ((age >= 0) & (age < window)).sum(1)


def kernel_fn(times, queries, window):
    age = queries.float()[:, None] - times.float()
    return torch.logical_and(age >= 0, age < window).sum(1)
