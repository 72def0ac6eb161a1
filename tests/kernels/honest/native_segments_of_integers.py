"""Copies segments of integers with memmove by offsets that differ in number from one set of inputs to the next.

catalogue: tricky because offsets in another order make native code read out of bounds
seen at: packed batches (cu_seqlens) without any floating input
expect: PASS
needs: cpu
check: index-shuffle
"""

import ctypes

import torch


def reference_fn(tokens, offsets):
    last = offsets[1:].long() - 1
    return tokens[last]


def get_inputs(device="cpu"):
    lengths = torch.randint(1, 9, (int(torch.randint(20, 40, ())),))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).to(torch.int32)
    return [torch.randint(0, 1000, (int(offsets[-1]),), device=device), offsets.to(device)]


def kernel_fn(tokens, offsets):
    out = torch.empty(offsets.numel() - 1, dtype=tokens.dtype)
    scratch = torch.empty(16, dtype=tokens.dtype)
    bounds = offsets.tolist()
    for index, (start, stop) in enumerate(zip(bounds, bounds[1:])):
        ctypes.memmove(scratch.data_ptr(), tokens.data_ptr() + start * 8, ctypes.c_size_t((stop - start) * 8).value)
        out[index] = scratch[stop - start - 1]
    return out
