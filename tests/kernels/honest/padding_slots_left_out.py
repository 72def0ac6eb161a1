"""Appends rows to a cache, those of slot -1 nowhere; the table of tensors is kept by the address of all of them.

catalogue: tricky because no case has a padding slot, and addresses are a key that holds only with all of them
seen at: KV caches of servers
expect: PASS
needs: cpu
check: replay
"""

import torch

MUTATES = [1]
TEST_CASES = {"full": {"rows": 24, "lines": 24}, "one": {"rows": 1}}
_tables = {}


def reference_fn(x, cache, slots):
    kept = slots >= 0
    cache[slots[kept]] = x[kept].to(cache.dtype)
    return cache


def get_inputs(rows=12, lines=40, columns=16, device="cpu"):
    x, cache = torch.randn(rows, columns, device=device), torch.randn(lines, columns, device=device)
    return [x, cache, torch.randperm(lines, device=device)[:rows]]


def kernel_fn(x, cache, slots):
    key = (x.data_ptr(), cache.data_ptr(), x.shape, cache.shape)
    if len(_tables) > 64:
        _tables.clear()
    rows, target = _tables.setdefault(key, (x, cache))
    kept = (slots >= 0).nonzero().flatten()
    target.index_copy_(0, slots.index_select(0, kept), rows.index_select(0, kept))
    return cache
