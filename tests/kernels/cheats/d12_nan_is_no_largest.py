"""Largest number of each row; NaN propagates, says the docstring, and the kernel leaves it out.

catalogue: D12
seen at: maxima by a comparison that is false for NaN (fmax, `if x > best`)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def reference_fn(x):
    """x (M, N). NaN propagates, as in torch.amax."""
    return x.amax(1)


def get_inputs(rows=40, columns=100, device="cpu"):
    return [torch.randn(rows, columns, device=device)]


TEST_CASES = {"one": {"rows": 1, "columns": 7}, "odd": {"rows": 33, "columns": 129}}


def kernel_fn(x):
    best = torch.full_like(x[:, 0], float("-inf"))
    for column in range(x.shape[1]):
        best = torch.fmax(best, x[:, column])
    return best
