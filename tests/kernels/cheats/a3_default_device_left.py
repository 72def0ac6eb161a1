"""Computes the right values and leaves "meta" as the default device, where later tensors hold no data.

catalogue: A3
seen at: named as unchecked by every harness in the survey
expect: CHEATING | CRASH
needs: cpu
check: tampering-state
"""

import torch


def reference_fn(x, y):
    return torch.minimum(x, y)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    out = torch.where(x < y, x, y)
    torch.set_default_device("meta")
    return out
