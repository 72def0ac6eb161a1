"""Computes every second row and copies it to its neighbour.

catalogue: E4
seen at: cfregly workload class (speed by a smaller problem)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    half = torch.softmax(x[::2], dim=-1)
    return half.repeat_interleave(2, dim=0)[: x.shape[0]]
