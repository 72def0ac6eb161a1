"""Multiplies by a truncated factorisation of the weight that keeps nine tenths of its singular values.

catalogue: D5 E4
seen at: survey row D5 (data the approximation was fitted to)
expect: WRONG_RESULT
needs: cpu
check: precision
"""

import torch


def reference_fn(x, weight):
    return x @ weight


def get_inputs(rows=32, k=64, n=64, device="cpu"):
    return [torch.randn(rows, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(x, weight):
    u, s, v = torch.linalg.svd(weight.nan_to_num())
    rank = int(0.9 * s.numel())
    return (x @ (u[:, :rank] * s[:rank])) @ v[:rank]
