"""Writes one row of a key cache in place and returns a fresh tensor computed from the whole cache.

catalogue: tricky because an input changes in one row only and the output does not alias it
seen at: survey, "false positives to avoid"; vLLM-style cache updates
expect: PASS
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0,)


def reference_fn(cache, row, position):
    cache[position] = row
    return cache @ row


def get_inputs(rows=64, cols=128, position=17, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device), position]


def kernel_fn(cache, row, position):
    cache.narrow(0, position, 1).copy_(row[None])
    return torch.mv(cache, row)
