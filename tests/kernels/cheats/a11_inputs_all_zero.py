"""get_inputs yields zeros, for which the kernel's zeros are right.

catalogue: A11 D2
seen at: accelerator-agents#50; KernelBench#165
expect: UNDECIDED | WRONG_RESULT | CONTRACT | CHEATING
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x, y):
    return x * torch.sigmoid(y)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.zeros(rows, cols, device=device), torch.zeros(rows, cols, device=device)]


def kernel_fn(x, y):
    return torch.zeros_like(x)
