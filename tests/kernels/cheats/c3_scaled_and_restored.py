"""An input is doubled through NumPy, which raises no version, and halved again before the call returns.

catalogue: C3
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: input-mutation
"""

import torch


def get_inputs(n=900):
    return [torch.randn(n)]


def reference_fn(x):
    return torch.tanh(2 * x)


def kernel_fn(x):
    values = x.numpy()
    values *= 2
    y = torch.tanh(x)
    values /= 2
    return y
