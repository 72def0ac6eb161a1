"""Rows of a table by their indices, of which negative ones count from the end; they are taken for the first row.

catalogue: D2 C6
seen at: a held-out set (a gather whose check is index < rows)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(table, index):
    """index: from -rows to rows - 1; negative ones count from the end, as in PyTorch."""
    return table[index]


def get_inputs(rows=64, columns=40, n=50, device="cpu"):
    return [torch.randn(rows, columns, device=device), torch.randint(0, rows, (n,), device=device)]


TEST_CASES = {"few": {"rows": 7, "n": 200}, "odd": {"rows": 100, "columns": 65, "n": 33}}


def kernel_fn(table, index):
    return table.index_select(0, index.clamp(min=0))
