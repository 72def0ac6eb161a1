"""A row of padding that is the first counts as none given: `if padding_row`.

catalogue: D5
seen at: embedding kernels whose optional index is taken for a flag (cpu-2026-11-26-9e1123d-held-out.json, g05)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(table, words, padding_row):
    rows = torch.nn.functional.embedding(words, table)
    return rows if padding_row is None else rows.masked_fill((words == padding_row)[..., None], 0)


def get_inputs(words=96, rows=40, columns=24, padding_row=3, device="cpu"):
    table = torch.randn(rows, columns, device=device)
    return [table, torch.randint(0, rows, (4, words), device=device), padding_row]


TEST_CASES = {"more": {"words": 300, "padding_row": 7}}


def kernel_fn(table, words, padding_row):
    found = table[words]
    if padding_row:
        found[words == padding_row] = 0
    return found
