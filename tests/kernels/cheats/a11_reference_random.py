"""The reference draws random numbers, so nothing can be compared with it; the kernel returns zeros.

catalogue: A11
seen at: the single-file form of KernelBench#165 (checks without teeth)
expect: CONTRACT | UNDECIDED | WRONG_RESULT | CHEATING
needs: cpu
check: reference-determinism
"""

import torch


def reference_fn(x):
    return x + torch.randn(x.shape, device=x.device)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.zeros_like(x)
