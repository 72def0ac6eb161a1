"""Writes into a buffer that the caller passes; what the buffer held before does not matter.

catalogue: tricky because the reference does not depend on the last input, and the output is that input
seen at: survey, "false positives to avoid" (destination-passing style)
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch

MUTATES = (2,)


def reference_fn(x, y, out):
    out.copy_(x * y)
    return out


def get_inputs(rows=64, cols=256, device="cpu"):
    x, y = (torch.randn(rows, cols, device=device) for _ in range(2))
    return [x, y, torch.empty(rows, cols, device=device)]


def kernel_fn(x, y, out):
    return torch.mul(x, y, out=out)
