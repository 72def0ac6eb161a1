"""A weight of zero becomes the default: `weight or 1.0`.

catalogue: D5
seen at: kernels with optional factors that are falsy at zero
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x, residual, weight):
    return x + weight * residual


def get_inputs(rows=64, columns=129, weight=0.5, device="cpu"):
    return [torch.randn(rows, columns, device=device), torch.randn(rows, columns, device=device), weight]


def kernel_fn(x, residual, weight):
    return torch.add(x, residual, alpha=weight or 1.0)
