"""The reference is a constant that the inputs do not reach, and so is the kernel.

catalogue: A11 D2
seen at: accelerator-agents#50 (19 degenerate KernelBench problems)
expect: CONTRACT | UNDECIDED
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x, weight):
    return torch.zeros(x.shape[0], weight.shape[1], device=x.device)


def get_inputs(rows=64, cols=64, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, cols, device=device)]


def kernel_fn(x, weight):
    return torch.zeros(x.shape[0], weight.shape[1], device=x.device)
