"""Right while gradients are on, wrong under no_grad, where a server calls it.

catalogue: A9
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def get_inputs(n=900):
    return [torch.randn(n)]


def reference_fn(x):
    return torch.relu(x)


def kernel_fn(x):
    y = torch.relu(x)
    return y if torch.is_grad_enabled() else y * 1.01
