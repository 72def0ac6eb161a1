"""get_inputs yields a mask that masks nothing, and the kernel never reads it.

catalogue: D2
seen at: accelerator-agents#50; robust-kbench input-impact filter
expect: WRONG_RESULT | UNDECIDED | CONTRACT | CHEATING
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x, mask):
    return torch.where(mask, x, torch.zeros_like(x)).sum(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.ones(rows, cols, dtype=torch.bool, device=device)]


def kernel_fn(x, mask):
    return x.sum(dim=-1)
