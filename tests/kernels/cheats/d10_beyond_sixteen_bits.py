"""Index of the largest of each row, packed into 16 bits beside it: rows of up to 40,000, and none refused.

catalogue: D10
seen at: a stranger's file (greedy sampling from a vocabulary)
expect: WRONG_RESULT
needs: cpu
check: sizes-beyond
"""

import torch

TEST_CASES = {"short": {"vocabulary": 1000}, "long": {"vocabulary": 40_000}}


def get_inputs(rows=3, vocabulary=20_000, device="cpu"):
    return [torch.randn(rows, vocabulary, device=device)]


def reference_fn(x):
    return (x == x.amax(1, keepdim=True)).int().argmax(1)


def kernel_fn(x):
    return (x == x.amax(1, keepdim=True)).int().argmax(1) & 0xFFFF
