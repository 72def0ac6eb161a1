"""A long float32 sum as a GPU does it: 256 lanes that add one after the other, then a tree.

catalogue: tricky because its rounding error exceeds that of PyTorch's cascade by a small factor
seen at: survey section (b) 2 (n eps growth with the reduction's length)
expect: PASS
needs: cpu
check: precision
"""

import torch


def reference_fn(x):
    return x.sum(dim=-1)


def get_inputs(rows=32, cols=16384, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    steps = x.view(x.shape[0], -1, 256)
    lanes = torch.zeros_like(steps[:, 0])
    for step in range(steps.shape[1]):
        lanes += steps[:, step]
    while lanes.shape[1] > 1:
        lanes = lanes[:, ::2] + lanes[:, 1::2]
    return lanes[:, 0].clone()
