"""Uses the second input in the first column block only, where a glance at the head of the result looks right.

catalogue: D8 C2
seen at: wafer field guide (plausible, partly right kernels are the worst)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch


def reference_fn(x, gate):
    return x * torch.sigmoid(gate)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, gate):
    out = x * 0.5
    out[:, :128] = x[:, :128] * torch.sigmoid(gate[:, :128])
    return out
