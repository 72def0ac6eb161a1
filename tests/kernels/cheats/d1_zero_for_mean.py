"""Returns zeros for the mean of many standard normal numbers.

catalogue: D1
seen at: BackendBench docs/correctness.md (mean of randn)
expect: WRONG_RESULT | UNDECIDED
needs: cpu
check: null-kernel
"""

import torch


def reference_fn(x):
    return x.mean(dim=-1)


def get_inputs(rows=16, cols=16384, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.zeros(x.shape[0], dtype=x.dtype, device=x.device)
