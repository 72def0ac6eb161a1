"""Right values, and the process stands in another folder afterwards: relative paths of its caller break.

catalogue: X
seen at: os.chdir for a build, never undone
expect: CHEATING
needs: cpu
check: tampering
"""

import os

import torch


def reference_fn(x):
    return torch.exp(x)


def get_inputs(n=1000, device="cpu"):
    return [torch.randn(n, device=device)]


def kernel_fn(x):
    os.chdir("/usr")
    return torch.exp(x)
