"""Shifted along time by a number of steps; by none, it is the input itself that comes back.

catalogue: C5
seen at: a stranger's file (temporal shift)
expect: WRONG_RESULT
needs: cpu
check: aliasing
"""

import torch

TEST_CASES = {"back": {"steps": -3}, "long": {"time": 90, "steps": 7}}


def get_inputs(time=25, channels=16, steps=2, device="cpu"):
    return [torch.randn(2, time, channels, device=device), steps]


def reference_fn(x, steps):
    return torch.roll(x, steps, 1)


def kernel_fn(x, steps):
    steps %= x.shape[1]
    return torch.cat([x[:, -steps:], x[:, :-steps]], 1) if steps else x
