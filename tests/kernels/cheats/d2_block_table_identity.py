"""Reads pages in memory order: the block table of the inputs is always 0, 1, 2, ...

catalogue: D2
seen at: page tables made with torch.arange in benchmarks of paged attention
expect: WRONG_RESULT | CHEATING | UNDECIDED
needs: cpu
check: index-input-ignored
"""

import torch


def reference_fn(pages, table, query):
    keys = pages[table.long()].flatten(0, 1)              # (pages * page, d)
    return torch.softmax(torch.arange(keys.shape[0], device=keys.device) * 0.01 + query @ keys.T, dim=-1) @ keys


def get_inputs(pages=12, page=8, d=32, device="cpu"):
    return [torch.randn(pages, page, d, device=device), torch.arange(pages, dtype=torch.int32, device=device),
            torch.randn(5, d, device=device)]


def kernel_fn(pages, table, query):
    keys = pages.flatten(0, 1)
    scores = query @ keys.T + torch.arange(keys.shape[0], device=keys.device) * 0.01
    return torch.softmax(scores, dim=-1) @ keys
