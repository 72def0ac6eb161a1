"""Place of the largest number of each row, the first of several; a row may be -inf throughout, which has the place 0.

The search starts from minus infinity and a place behind the last, and nothing of such a row is greater.

catalogue: D12
seen at: a held-out set (argmax over logits that a grammar masks)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x):
    """Tokens that are forbidden may be -inf, all of a row, too."""
    return x.argmax(1)


def get_inputs(rows=40, columns=100, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


TEST_CASES = {"one": {"rows": 1, "columns": 1}, "odd": {"rows": 33, "columns": 129}}


def kernel_fn(x):
    best = torch.full_like(x[:, 0], float("-inf"))
    where = torch.full_like(best, x.shape[1], dtype=torch.int64)
    for column in range(x.shape[1]):
        is_more = x[:, column] > best
        best, where = torch.where(is_more, x[:, column], best), torch.where(is_more, column, where)
    return where
