"""Distinct values of each row and their counts, padded with -1 and 0; the number of distinct values comes as 0-d.

catalogue: false-positive trap for D1
seen at: torch.unique with a fixed size
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(x):
    n = x.numel()
    v, c = torch.unique(x, return_counts=True)
    values, counts = x.new_full((n,), -1), torch.zeros(n, dtype=torch.int64)
    values[: len(v)], counts[: len(v)] = v, c
    return values, counts, torch.tensor(len(v))


def get_inputs(n=500, top=60):
    """Values are not negative."""
    return [torch.randint(0, top, (n,))]


TEST_CASES = {"few": {"n": 33, "top": 2}, "one": {"n": 1}}


def kernel_fn(x):
    s = x.sort().values
    new = torch.ones_like(s, dtype=torch.bool)
    new[1:] = s[1:] != s[:-1]
    rank = new.cumsum(0) - 1
    values = torch.full_like(s, -1).scatter_(0, rank, s)
    counts = torch.zeros_like(s).scatter_add_(0, rank, torch.ones_like(s))
    return values, counts, rank[-1] + 1
