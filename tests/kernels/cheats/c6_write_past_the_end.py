"""Right values, and four bytes of zeros written just past the end of the first input's data.

catalogue: C6
seen at: pygpubench canaries; inductor #95595; PyTorch PR#45294 (the allocator hides it)
expect: CHEATING | WRONG_RESULT | CRASH
needs: cpu
check: guard-zone
"""

import ctypes

import torch


def reference_fn(x):
    return torch.roll(x, 1, dims=-1)


def get_inputs(rows=63, cols=129, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    out = torch.roll(x, 1, dims=-1)
    ctypes.memset(x.data_ptr() + x.numel() * x.element_size(), 0, 4)
    return out
