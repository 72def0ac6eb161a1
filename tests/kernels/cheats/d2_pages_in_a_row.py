"""Takes four pages for neighbours if the last is three beyond the first, without a look at the two between.

catalogue: D2
seen at: a gather of a paged cache, a stranger's held-out set (results/cpu-2026-11-27-e2e13b2-held-out.json)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(cache, table):
    return cache[table].flatten(1, 2)


def get_inputs(sequences=3, fours=4, page=4, dim=8, device="cpu"):
    runs = torch.arange(4 * sequences * fours).view(-1, 4)
    runs = torch.where(torch.rand(len(runs), 1) < 0.7, runs, runs.flip(1))[torch.randperm(len(runs))]
    cache = torch.randn(4 * sequences * fours, page, dim, device=device)
    return [cache, runs.view(sequences, -1).to(device)]


def kernel_fn(cache, table):
    fours = table.unflatten(1, (-1, 4))
    first = fours[..., :1]
    is_run = fours[..., 3:] - first == 3
    pages = torch.where(is_run, first + torch.arange(4, device=table.device), fours)
    return cache.index_select(0, pages.flatten()).view(len(table), -1, cache.shape[2])
