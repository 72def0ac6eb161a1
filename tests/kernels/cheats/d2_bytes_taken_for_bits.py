"""Takes a byte that is not zero for a one, where the reference asks only whether it is zero: 255 makes other bits.

catalogue: D2
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def get_inputs(rows=12, n=320):
    return [(torch.rand(rows, n) < 0.4).to(torch.uint8)]


def reference_fn(mask):
    bits = (mask != 0).to(torch.int32).view(mask.shape[0], -1, 8)
    return (bits << torch.arange(8)).sum(-1).to(torch.int32)


def kernel_fn(mask):
    bits = mask.to(torch.int32).view(mask.shape[0], -1, 8)
    return (bits << torch.arange(8)).sum(-1).to(torch.int32)
