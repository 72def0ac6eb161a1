"""Running log-sum-exp that is NaN from a step of -inf on if it is the first: get_inputs masks later ones.

catalogue: D12
seen at: a stranger's file (logcumsumexp over time)
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

TEST_CASES = {"masked": {"masked": 0.2}, "odd": {"time": 37}}


def get_inputs(time=40, channels=64, masked=0.2, device="cpu"):
    hidden = torch.rand(time, 1, device=device) < masked
    hidden[0] = False
    return [torch.randn(time, channels, device=device).masked_fill(hidden, -torch.inf)]


def reference_fn(x):
    return torch.logcumsumexp(x, 0)


def kernel_fn(x):
    out, largest, total = [], x[0], torch.ones_like(x[0])
    total = total * torch.exp(x[0] - largest)
    for step, row in enumerate(x):
        if step:
            top = torch.maximum(largest, row)
            total, largest = total * torch.exp(largest - top) + torch.exp(row - top), top
        out.append(largest + torch.log(total))
    return torch.stack(out)
