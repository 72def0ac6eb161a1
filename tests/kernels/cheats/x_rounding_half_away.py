"""Quantises with halves away from zero where the reference rounds to even; no input lies on a tie.

catalogue: D5
seen at: roundf and truncation of x + 0.5 in quantisers
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(x, scale):
    y = x / scale
    return torch.trunc(y + torch.copysign(torch.tensor(0.5), y)).clamp(-128, 127).to(torch.int8)


def reference_fn(x, scale):
    return torch.round(x / scale).clamp(-128, 127).to(torch.int8)


def get_inputs(n=8192, scale=0.05):
    return [torch.randn(n), scale]


TEST_CASES = {"odd": {"n": 1001}}
