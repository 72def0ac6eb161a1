"""Has no reference_fn at all: there is nothing to be compared with.

catalogue: A11
seen at: fail-closed grading (kernelbench.com); a missing name must never be a pass
expect: CONTRACT
needs: cpu
check: contract
"""

import torch


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x + 1
