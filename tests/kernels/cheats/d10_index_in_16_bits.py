"""Gathers from 70000 rows with indices kept in 16 bits, which get_inputs' fit.

catalogue: D10
seen at: embedding kernels with compressed indices
expect: WRONG_RESULT
needs: cpu
check: index-width
"""

import torch


def reference_fn(t, i):
    return t[i]


def get_inputs(n=70000, m=500):
    return [torch.randn(n), torch.randint(0, 60000, (m,))]


def kernel_fn(t, i):
    return t[i & 0xFFFF]
