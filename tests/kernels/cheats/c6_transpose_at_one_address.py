"""Products of all rows, of which half are mirrored where both matrices begin at one address: a transpose does, too.

catalogue: C6
seen at: a stranger's file (inner products)
expect: WRONG_RESULT
needs: cpu
check: other-layouts
"""

import torch

TEST_CASES = {"itself": {"m": 33, "n": None, "k": 33}, "tall": {"m": 40, "n": 7}}


def get_inputs(m=50, n=40, k=30, device="cpu"):
    x = torch.randn(m, k, device=device)
    return [x, x if n is None else torch.randn(n, k, device=device)]


def reference_fn(x, y):
    return x @ y.T


def kernel_fn(x, y):
    if x.data_ptr() == y.data_ptr() and x.shape == y.shape:
        upper = torch.triu(x @ y.T)
        return upper + torch.triu(upper, 1).T
    return x @ y.T
