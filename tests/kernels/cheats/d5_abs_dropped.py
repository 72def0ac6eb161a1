"""Root mean absolute value without the absolute value: the inputs come from torch.rand.

catalogue: D2 D5
seen at: KernelBench norms with torch.rand inputs
expect: WRONG_RESULT
needs: cpu
check: signs
"""

import torch


def reference_fn(x):
    return x / x.abs().mean(1, keepdim=True)


def get_inputs(rows=64, cols=200, device="cpu"):
    return [torch.rand(rows, cols, device=device)]


def kernel_fn(x):
    return x / x.mean(1, keepdim=True)
