"""Computes the right values and leaves denormals flushed to zero for everything that follows.

catalogue: A5
seen at: the same idea as the TF32 flags, with a processor mode that no flag snapshot shows
expect: CHEATING
needs: cpu
check: tampering-state
"""

import torch


def reference_fn(x):
    return x * 0.25


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = x * 0.25
    torch.set_flush_denormal(True)
    return out
