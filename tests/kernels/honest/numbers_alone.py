"""A sum and a product of it, returned as numbers of Python: there is no tensor in the result.

catalogue: results without elements to compare, whose reference seems not to depend on its inputs
seen at: written to see how the judge takes results of other kinds
expect: PASS
needs: cpu
check: weak-inputs
"""

import torch

TEST_CASES = {"few": {"n": 3}, "more": {"n": 1000}}


def get_inputs(n=50, device="cpu"):
    return [torch.randint(0, 9, (n,), device=device), 2.5]


def reference_fn(x, scale):
    return int(x.sum()), float(x.sum()) * scale


def kernel_fn(x, scale):
    total = int(torch.cumsum(x, 0)[-1])
    return total, total * scale
