"""Imports a module that does not exist.

catalogue: A12
seen at: fail-closed grading (kernelbench.com)
expect: CONTRACT | CRASH
needs: cpu
check: contract
"""

import a_module_that_nobody_has  # noqa: F401
import torch


def reference_fn(x):
    return x * 2


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return x * 2
