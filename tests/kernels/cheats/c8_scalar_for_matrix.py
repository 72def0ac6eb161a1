"""Returns one number of shape () that broadcasts against every element of the reference.

catalogue: C8 D1
seen at: survey row C8; BackendBench docs/correctness.md (mean of randn)
expect: WRONG_RESULT | CONTRACT
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    return x.mean(dim=-1)


def get_inputs(rows=64, cols=4096, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x.mean()
