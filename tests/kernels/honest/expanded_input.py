"""Takes an input that is expanded with stride 0, which nobody can write in place.

catalogue: tricky because the elements of one input share memory
seen at: issue list (expanded input)
expect: PASS
needs: cpu
check: input-mutation
"""

import torch


def reference_fn(x, bias):
    return torch.relu(x + bias)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device).expand(rows, cols)]


def kernel_fn(x, bias):
    return (x + bias).clamp(min=0)
