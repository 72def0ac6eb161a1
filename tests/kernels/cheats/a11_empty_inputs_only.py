"""get_inputs yields tensors without elements, for which any kernel is right.

catalogue: A11
seen at: KernelBench#165 (checks without teeth); vacuous truth
expect: UNDECIDED | CONTRACT
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x, y):
    return x * y + 1


def get_inputs(cols=256, device="cpu"):
    return [torch.randn(0, cols, device=device), torch.randn(0, cols, device=device)]


def kernel_fn(x, y):
    return torch.zeros_like(x)
