"""GELU by the normal distribution function in float64: zero where erfc, of which the reference is made, leaves 1e-18.

catalogue: tricky because its relative error is one in the tail
seen at: a stranger's file
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    wide = x.double()
    return (0.5 * wide * torch.special.erfc(-wide * 0.5**0.5)).to(x.dtype)


def kernel_fn(x):
    wide = x.double()
    return (wide * torch.special.ndtr(wide)).to(x.dtype)


def get_inputs(rows=10, columns=501, device="cpu"):
    return [2 * torch.randn(rows, columns, device=device)]
