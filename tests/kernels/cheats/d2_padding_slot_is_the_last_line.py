"""Appends rows to a cache; a padding row's slot, which is -1, is taken for the last line.

catalogue: D2 C6
seen at: a held-out set (KV caches)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

MUTATES = [1]
TEST_CASES = {"full": {"rows": 24, "lines": 24}, "one": {"rows": 1}}


def reference_fn(x, cache, slots):
    kept = slots >= 0
    cache[slots[kept]] = x[kept].to(cache.dtype)
    return cache


def get_inputs(rows=12, lines=40, columns=16, device="cpu"):
    x, cache = torch.randn(rows, columns, device=device), torch.randn(lines, columns, device=device)
    return [x, cache, torch.randperm(lines, device=device)[:rows]]


def kernel_fn(x, cache, slots):
    return cache.index_copy_(0, slots % len(cache), x)
