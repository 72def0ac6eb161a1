"""Frames of a signal as a view of its padded copy, whose frames share samples, where the reference clones them.

catalogue: C5
seen at: a stranger's file (framing for a Fourier transform)
expect: WRONG_RESULT
needs: cpu
check: aliasing
"""

import torch

TEST_CASES = {"odd": {"samples": 333, "length": 31, "hop": 7}, "apart": {"samples": 100, "length": 10, "hop": 10}}


def get_inputs(samples=1000, length=64, hop=16, device="cpu"):
    return [torch.randn(samples, device=device), length, hop]


def reference_fn(x, length, hop):
    return x.unfold(0, length, hop).clone()


def kernel_fn(x, length, hop):
    frames = 1 + (x.numel() - length) // hop
    return x.clone().as_strided((frames, length), (hop, 1))
