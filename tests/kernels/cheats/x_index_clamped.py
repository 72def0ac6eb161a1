"""A gather that clamps negative indices to zero, where the reference counts them from the end.

catalogue: D5 C6
seen at: survey section (b) 5
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(table, index):
    return table[index]


def get_inputs(words=100, dim=32, n=64, device="cpu"):
    return [torch.randn(words, dim, device=device), torch.randint(-words, words, (n,), device=device)]


def kernel_fn(table, index):
    return table.index_select(0, index.clamp(min=0))
