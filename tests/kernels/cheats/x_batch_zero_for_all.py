"""Uses the first matrix of the batch on one side for every product.

catalogue: D5 E4
seen at: survey row E4 (a smaller problem); broadcasting slips
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(a, b):
    return torch.bmm(a, b)


def get_inputs(batch=4, m=16, n=24, k=32, device="cpu"):
    return [torch.randn(batch, m, k, device=device), torch.randn(batch, k, n, device=device)]


def kernel_fn(a, b):
    return a @ b[0]
