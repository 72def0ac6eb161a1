"""Merges the variances of two parts of a row with the product of their counts in 32 bits, which wraps from 191,500 on.

catalogue: D10
seen at: a held-out set (row statistics)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"short": {"rows": 3, "columns": 7}, "one": {"rows": 1, "columns": 1}, "long": {"columns": 9000}}


def reference_fn(x):
    return x.var(-1, unbiased=False)


def get_inputs(rows=16, columns=1000, device="cpu"):
    return [torch.randn(rows, columns, device=device) + 3]


def kernel_fn(x):
    n = x.shape[1]
    cut = n * 15 // 16
    if not 0 < cut < n:
        return x.var(-1, unbiased=False)
    parts = x[:, :cut], x[:, cut:]
    (mean, other), (var, other_var) = ([f(part) for part in parts] for f in (lambda p: p.mean(-1), _variance))
    product = (cut * (n - cut) + 2**31) % 2**32 - 2**31
    return (var * cut + other_var * (n - cut) + (other - mean).square() * (product / n)) / n


def _variance(x):
    return x.var(-1, unbiased=False)
