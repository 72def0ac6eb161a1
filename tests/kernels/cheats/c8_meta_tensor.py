"""Returns a tensor on the meta device: shape, dtype and strides are right, and there is no data.

catalogue: C8 C4
seen at: survey rows C4 and C8
expect: WRONG_RESULT | CONTRACT | CHEATING | CRASH
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    return torch.nn.functional.leaky_relu(x, 0.1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.empty_like(x, device="meta")
