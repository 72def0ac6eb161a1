"""The permutation of a sort that reverses the order of equal keys, where the reference is stable.

catalogue: D5
seen at: survey section (b) 5 (ties among the hostile values)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x):
    return torch.sort(x, dim=-1, stable=True)


def get_inputs(rows=32, cols=128, device="cpu"):
    return [torch.randint(0, 9, (rows, cols), device=device).float()]


def kernel_fn(x):
    order = x.flip(-1).argsort(dim=-1, stable=True)
    order = x.shape[-1] - 1 - order
    return x.gather(-1, order), order
