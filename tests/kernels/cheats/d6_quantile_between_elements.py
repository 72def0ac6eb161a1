"""A quantile without interpolation: those that are multiples of a tenth fall on an element.

catalogue: D6
seen at: medians and quartiles by sorting
expect: WRONG_RESULT
needs: cpu
check: other-arguments
"""

import torch


def reference_fn(x, q):
    return torch.quantile(x, q, dim=-1)


def get_inputs(m=16, n=101, q=0.5):
    return [torch.randn(m, n), q]


def kernel_fn(x, q):
    return x.sort(-1).values[..., round(q * (x.shape[-1] - 1))]
