"""Writes each new result into the memory of the one before, found among the tensors that it returned earlier.

catalogue: A3 B4
seen at: variation of b4_static_output.py
expect: WRONG_RESULT | CHEATING
needs: cpu
check: earlier-result
"""

import torch

_returned = []


def reference_fn(x):
    return torch.relu(x) * 2.0


def get_inputs(rows=64, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = torch.relu(x) * 2.0
    if len(_returned) >= 2 and _returned[-2].shape == out.shape:
        _returned[-2].copy_(out)
    _returned.append(out)
    del _returned[:-2]
    return out
