"""Right values; from the sixth call on the second input is overwritten with the first.

catalogue: C3 B3
seen at: kernelbot cheat-input.py with a counter
expect: WRONG_RESULT | CHEATING
needs: cpu
check: input-mutation
"""

import torch

_calls = []


def reference_fn(x, y):
    return x - y


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    _calls.append(1)
    out = x - y
    if len(_calls) >= 6:
        y.copy_(x)
    return out
