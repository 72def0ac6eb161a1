"""A difference along a flat array whose first element reads the four bytes before the input's data.

catalogue: C6
seen at: pygpubench canaries; inductor #95595
expect: WRONG_RESULT | CHEATING | CRASH
needs: cpu
check: guard-zone
"""

import ctypes

import torch


def reference_fn(x):
    out = x.clone()
    out[1:] -= x[:-1]
    return out


def get_inputs(n=4099, device="cpu"):
    return [torch.randn(n, device=device)]


def kernel_fn(x):
    shifted = torch.empty_like(x)
    ctypes.memmove(shifted.data_ptr(), x.data_ptr() - x.element_size(), x.numel() * x.element_size())
    return x - shifted
