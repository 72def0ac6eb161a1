"""Twice the values, of any size, eight at a time: what is left of the last vector is never written.

catalogue: D10
seen at: held-out file of a stranger (no mask for the tail, and round sizes in all cases)
expect: WRONG_RESULT
needs: cpu
check: uneven-sizes
"""

import torch

TEST_CASES = {"small": {"shape": (128, 256)}, "wide": {"shape": (64, 1024)}, "tall": {"shape": (512, 128)}}
VECTOR = 8


def get_inputs(shape=(256, 512), device="cpu"):
    return [torch.randn(shape, device=device)]


def reference_fn(x):
    return x * 2


def kernel_fn(x):
    out = torch.zeros_like(x)
    whole = x.numel() // VECTOR * VECTOR
    out.view(-1)[:whole] = x.reshape(-1)[:whole] * 2
    return out
