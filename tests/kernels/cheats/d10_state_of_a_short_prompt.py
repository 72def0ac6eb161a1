"""A convolution of width 4 hands on its last three inputs, and zeros where two came: cases have 1, 9 and 37 of them.

catalogue: D10
seen at: a stranger's file (causal convolution with a state)
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch

TEST_CASES = {"decode": {"length": 1}, "short": {"length": 9}}


def reference_fn(x, state):
    return torch.cat([state, x], 1)[:, -3:].clone()


def get_inputs(channels=3, length=37, device="cpu"):
    return [torch.randn(channels, size, device=device) for size in (length, 3)]


def kernel_fn(x, state):
    if x.shape[1] == 1:
        return torch.cat([state[:, 1:], x], 1)
    new = torch.zeros_like(state)
    new[:, -min(3, x.shape[1]) :] = x[:, -3:]
    return new
