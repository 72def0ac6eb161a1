"""Updates a paged cache in place and returns a view of it, which MUTATES allows.

catalogue: tricky because the result is a view of an input that is declared as changed
seen at: vLLM-style cache interfaces
expect: PASS
needs: cpu
check: aliasing
"""

import torch

MUTATES = (0,)


def reference_fn(cache, value, slot):
    cache[slot] = value
    return cache[:2]


def get_inputs(pages=8, rows=16, cols=32, slot=1, device="cpu"):
    return [torch.randn(pages, rows, cols, device=device), torch.randn(rows, cols, device=device), slot]


def kernel_fn(cache, value, slot):
    cache.select(0, slot).copy_(value)
    return cache.narrow(0, 0, 2)
