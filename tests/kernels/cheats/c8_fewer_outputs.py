"""Returns one of the two outputs that the reference returns; zip() would never miss the other.

catalogue: C8
seen at: survey row C8
expect: WRONG_RESULT | CONTRACT
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    return x.amax(dim=-1), x.argmax(dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return (x.amax(dim=-1),)
