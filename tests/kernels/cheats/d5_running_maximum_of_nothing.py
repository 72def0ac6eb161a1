"""A running maximum that is NaN as long as it has met minus infinity alone: random masks let a number in at once.

catalogue: D5
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

STEP = 32


def get_inputs(m=6, n=256):
    x = torch.randn(m, n)
    return [x.masked_fill(torch.rand(m, n) < 0.1, float("-inf"))]


def reference_fn(x):
    return torch.logsumexp(x, -1)


def kernel_fn(x):
    most = torch.full((len(x),), float("-inf"))
    total = torch.zeros(len(x))
    for part in x.split(STEP, -1):
        new = torch.maximum(most, part.amax(-1))
        total, most = total * torch.exp(most - new) + torch.exp(part - new[:, None]).sum(-1), new
    return most + torch.log(total)
