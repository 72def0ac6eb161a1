"""Keeps the sizes of its first call, like a kernel compiled for static shapes, and uses them ever after.

catalogue: D10 D6
seen at: cutlass#2794 (template marked dynamic, the run-time tensor not)
expect: WRONG_RESULT | CRASH
needs: cpu
check: values
"""

import torch

TEST_CASES = {"taller": {"rows": 96}, "shorter": {"rows": 40}}

_sizes = []


def reference_fn(x):
    return torch.relu(x) * 2


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if not _sizes:
        _sizes.append(x.shape[0])
    out = torch.zeros_like(x)
    out[: _sizes[0]] = torch.relu(x[: _sizes[0]]) * 2
    return out
