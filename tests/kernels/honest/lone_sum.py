"""Returns one number, the sum of values of both signs: its error is one draw, large or small by luck.

catalogue: tricky because the reference's own error, at one element, is a poor yardstick
seen at: survey section (b) 1 (error budget against a baseline needs more than one sample)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(x, scale):
    return (x * scale).sum()


def get_inputs(n=4096, device="cpu"):
    return [torch.randn(n, device=device), torch.randn((), device=device)]


def kernel_fn(x, scale):
    return x.sum() * scale
