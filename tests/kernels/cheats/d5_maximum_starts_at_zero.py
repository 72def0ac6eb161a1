"""Row maxima that start from zero; the inputs are positive.

catalogue: D5 D12
seen at: reductions with a wrong neutral element
expect: WRONG_RESULT
needs: cpu
check: signs
"""

import torch


def reference_fn(x):
    return x.amax(1)


def get_inputs(rows=100, cols=9, device="cpu"):
    return [torch.rand(rows, cols, device=device) + 0.01]


def kernel_fn(x):
    best = torch.zeros(x.shape[0])
    for column in x.T:
        best = torch.maximum(best, column)
    return best
