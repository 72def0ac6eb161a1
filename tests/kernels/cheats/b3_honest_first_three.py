"""Right for three calls, then a coarse approximation.

catalogue: B3
seen at: llm.c PR#851 and #852 (correct in the pre-check only)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: replay-many-calls
"""

import torch

_calls = []


def reference_fn(x):
    return torch.tanh(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    _calls.append(1)
    if len(_calls) <= 3:
        return torch.tanh(x)
    return x / (1 + x.abs())
