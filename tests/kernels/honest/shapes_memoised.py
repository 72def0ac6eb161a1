"""Remembers index tables by shape with functools.lru_cache; the tables do not depend on any value.

catalogue: tricky because tensors are cached between calls, keyed by shape alone, and rightly so
seen at: issue list (lru_cache on shapes)
expect: PASS
needs: cpu
check: replay-same-storage
"""

import functools

import torch


def reference_fn(x):
    return torch.tril(x)


def get_inputs(rows=96, device="cpu"):
    return [torch.randn(rows, rows, device=device)]


@functools.lru_cache(maxsize=None)
def _below(rows, cols, device):
    return torch.arange(rows, device=device)[:, None] >= torch.arange(cols, device=device)


def kernel_fn(x):
    return torch.where(_below(*x.shape, x.device), x, x.new_zeros(()))
