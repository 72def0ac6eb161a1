"""A matrix product over 15 of every 16 steps of the inner dimension, scaled up to compensate.

catalogue: E4 D5
seen at: cfregly workload class (speed by a smaller problem)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=256, device="cpu"):
    return [torch.rand(m, k, device=device), torch.rand(k, n, device=device)]


def kernel_fn(a, b):
    keep = torch.arange(a.shape[1], device=a.device) % 16 != 15
    return (a[:, keep] @ b[keep]) * (16 / 15)
