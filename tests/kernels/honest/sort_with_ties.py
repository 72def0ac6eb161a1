"""A stable sort of small integers: values and permutation must match although almost every key is tied.

catalogue: tricky because of ties
seen at: issue list (sorting with ties)
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return tuple(torch.sort(x, dim=-1, stable=True))


def get_inputs(rows=32, cols=200, device="cpu"):
    return [torch.randint(0, 5, (rows, cols), device=device)]


def kernel_fn(x):
    cols = x.shape[-1]
    index = torch.arange(cols, device=x.device)
    order = (x * cols + index).argsort(dim=-1)
    return x.gather(-1, order), order
