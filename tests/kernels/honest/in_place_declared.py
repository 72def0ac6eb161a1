"""Adds the residual into its first input, which MUTATES says, and returns that input.

catalogue: tricky because the input changes and the output is the input
seen at: survey, "false positives to avoid" (legitimate in-place operations)
expect: PASS
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0,)


def reference_fn(residual, x):
    residual += x
    return residual


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(residual, x):
    return torch.add(residual, x, out=residual)
