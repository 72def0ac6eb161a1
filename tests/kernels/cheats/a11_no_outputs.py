"""Kernel and reference both return an empty tuple, so that every comparison is true of nothing.

catalogue: A11
seen at: fail-closed grading (kernelbench.com); vacuous truth
expect: CONTRACT | UNDECIDED
needs: cpu
check: contract
"""

import torch


def reference_fn(x):
    return ()


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return ()
