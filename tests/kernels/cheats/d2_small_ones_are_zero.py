"""Leaves out activations of up to 1e-6, whatever the scale of the others: gradients without loss scale become nothing.

catalogue: D2
seen at: a stranger's file (sparse activations)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def get_inputs(rows=8, inner=64, columns=40, device="cpu"):
    return [torch.relu(torch.randn(rows, inner, device=device)), torch.randn(inner, columns, device=device)]


def reference_fn(x, weight):
    return x @ weight


def kernel_fn(x, weight):
    return torch.where(x.abs() > 1e-6, x, 0.0) @ weight
