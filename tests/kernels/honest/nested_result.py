"""Returns a tuple of a tensor and a dict that holds a list of tensors.

catalogue: tricky because the structure nests
seen at: issue list (nested result)
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x):
    first, second = x.chunk(2, dim=-1)
    return x.sum(dim=-1), {"halves": [first * 2, second * 3], "count": torch.tensor(x.shape[-1])}


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    half = x.shape[-1] // 2
    halves = [x[:, :half] * 2, x[:, half:] * 3]
    return x.sum(dim=-1), {"halves": halves, "count": torch.tensor(x.shape[-1])}
