"""Neighbours are told apart by the low sixteen bits of their tokens.

catalogue: D7
seen at: held-out file of a stranger (a CTC loss that keeps its labels in bytes)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(tokens):
    return (tokens[:, 1:] == tokens[:, :-1]).float().sum(-1)


def get_inputs(rows=4, columns=96, vocabulary=150_000, device="cpu"):
    return [torch.randint(0, vocabulary, (rows, columns), device=device)]


TEST_CASES = {"few": {"vocabulary": 7}, "one row": {"rows": 1, "columns": 41}}


def kernel_fn(tokens):
    low = tokens.to(torch.int16)
    return (low[:, 1:] == low[:, :-1]).float().sum(-1)
