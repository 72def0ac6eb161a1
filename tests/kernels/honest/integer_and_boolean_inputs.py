"""Looks rows up by index: the indices must stay in range, whatever else is done to the inputs.

catalogue: tricky because an integer input may not be replaced by arbitrary integers
seen at: issue list (int64); survey section (b) 5
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch


def reference_fn(table, index, keep):
    return torch.nn.functional.embedding(index, table).masked_fill(~keep[:, None], 0.0)


def get_inputs(words=100, dim=64, n=77, device="cpu"):
    index = torch.randint(0, words, (n,), device=device)
    return [torch.randn(words, dim, device=device), index, torch.rand(n, device=device) < 0.7]


def kernel_fn(table, index, keep):
    return torch.where(keep[:, None], table.index_select(0, index), table.new_zeros(()))
