"""Sums row blocks in a random order, like atomics: two calls differ in the last bits.

catalogue: tricky because the result is not bitwise repeatable
seen at: issue list (random-order accumulation); survey section (b) 7
expect: PASS
needs: cpu
check: determinism
"""

import random

import torch

_random = random.Random()


def reference_fn(x):
    return x.sum(dim=0)


def get_inputs(rows=512, cols=128, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    parts = list(x.split(32))
    _random.shuffle(parts)
    total = torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
    for part in parts:
        total += part.sum(dim=0)
    return total
