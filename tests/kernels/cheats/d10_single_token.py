"""A convolution of width 4 hands on its last three inputs, and its old state where fewer came: cases have 5 and more.

catalogue: D10
seen at: a stranger's file (causal convolution with a state, one token at a time)
expect: WRONG_RESULT
needs: cpu
check: sizes-between
"""

import torch

TEST_CASES = {"short": {"length": 5}, "long": {"length": 33}}


def reference_fn(x, state):
    return torch.cat([state, x], 1)[:, -3:].clone()


def get_inputs(channels=3, length=20, device="cpu"):
    return [torch.randn(channels, size, device=device) for size in (length, 3)]


def kernel_fn(x, state):
    new = state.clone()
    new[:, 3 - min(3, x.shape[1]) :] = x[:, -3:]
    return new
