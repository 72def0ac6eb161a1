"""A softmax whose maximum starts from zero: a row of numbers below -100, whose exponentials all vanish, becomes NaN.

catalogue: D5
seen at: reductions that begin with 0 in place of minus infinity
expect: WRONG_RESULT
needs: cpu
check: hostile
"""

import torch


def reference_fn(x):
    return torch.softmax(x, -1)


def get_inputs(rows=16, columns=100):
    return [torch.randn(rows, columns)]


def kernel_fn(x):
    e = torch.exp(x - x.amax(-1, keepdim=True).clamp_min(0))
    return e / e.sum(-1, keepdim=True)
