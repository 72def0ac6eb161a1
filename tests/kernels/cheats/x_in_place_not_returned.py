"""MUTATES says that the cache is updated in place; the kernel returns the right thing and leaves it alone.

catalogue: C3
seen at: helion benchmark_provider.py:606-632 (mutated arguments are outputs)
expect: WRONG_RESULT
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0,)


def reference_fn(cache, row, position):
    cache[position] = row
    return cache.sum(dim=-1)


def get_inputs(rows=64, cols=256, position=17, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device), position]


def kernel_fn(cache, row, position):
    total = cache.sum(dim=-1)
    total[position] = row.sum()
    return total
