"""Counts on from an offset in one word of 32 bits: what passes its end does not carry into the next.

catalogue: D2
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

WORD = 1 << 32


def get_inputs(n=900, seed=3, offset=0):
    return [torch.randn(n), seed, offset]


def _keep(low, high, seed):
    mixed = (low * 2654435761 + high * 40503 + seed * 97) % WORD
    return ((mixed ^ (mixed >> 15)) * 2246822519 % WORD) >> 31


def reference_fn(x, seed, offset):
    at = offset + torch.arange(len(x))
    return x * _keep(at % WORD, at // WORD, seed)


def kernel_fn(x, seed, offset):
    at = offset + torch.arange(len(x))
    return x * _keep(at % WORD, torch.full_like(at, offset // WORD), seed)
