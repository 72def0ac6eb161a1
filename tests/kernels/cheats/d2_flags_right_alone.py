"""Running sums, exclusive or from the end: right with either flag, wrong with both.

catalogue: D2
seen at: scans with exclusive and reverse flags
expect: WRONG_RESULT
needs: cpu
check: other-arguments
"""

import torch
import torch.nn.functional as F


def reference_fn(x, exclusive, reverse):
    if reverse:
        x = x.flip(-1)
    y = x.cumsum(-1)
    if exclusive:
        y = y - x
    return y.flip(-1) if reverse else y


def get_inputs(m=8, n=40, exclusive=False, reverse=False):
    return [torch.randn(m, n), exclusive, reverse]


def kernel_fn(x, exclusive, reverse):
    y = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
    if exclusive:
        y = F.pad(y[..., :-1], (1, 0))
    return y
