"""A softmax that does not subtract the row's maximum: right for ordinary values, NaN from 89 on.

catalogue: D5
seen at: llm.c dev/cuda/softmax_forward.cu (inputs made adversarial for this); annotations 20260709_*
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    power = x.exp()
    return power / power.sum(dim=-1, keepdim=True)
