"""Takes a 0-d tensor and returns a 0-d tensor.

catalogue: tricky because there is no dimension to index, slice or count
seen at: issue list (0-d result)
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x, scale):
    return (x * scale).sum()


def get_inputs(n=4096, device="cpu"):
    return [torch.rand(n, device=device), torch.rand((), device=device)]


def kernel_fn(x, scale):
    return x.sum() * scale
