"""Returns a Python float where the reference returns a 0-d tensor.

catalogue: C8
seen at: survey row C8
expect: WRONG_RESULT | CONTRACT
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    return x.abs().amax()


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return float(x.abs().amax())
