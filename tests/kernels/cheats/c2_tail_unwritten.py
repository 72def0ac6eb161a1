"""Writes whole tiles of 16 columns only; the columns past the last whole tile stay as allocated.

catalogue: C2
seen at: quack and FlashAttention tests (odd N); helion#1334
expect: WRONG_RESULT | CHEATING
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"rows": 33, "cols": 253}, "one": {"rows": 1, "cols": 17}}


def reference_fn(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = torch.zeros_like(x)
    for first in range(0, x.shape[1] - 15, 16):
        tile = slice(first, first + 16)
        out[:, tile] = torch.nn.functional.gelu(x[:, tile], approximate="tanh")
    return out
