"""copysign by comparison with zero: minus zero counts as positive.

catalogue: D12
seen at: survey section (b) 5 (signed zeros among the hostile values)
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch

TEST_CASES = {"signed_zeros": {"zeros": True}}


def reference_fn(magnitude, sign):
    return torch.copysign(magnitude, sign)


def get_inputs(rows=64, cols=256, zeros=False, device="cpu"):
    sign = torch.randn(rows, cols, device=device)
    if zeros:
        sign[::2] = -0.0
    return [torch.randn(rows, cols, device=device), sign]


def kernel_fn(magnitude, sign):
    return torch.where(sign < 0, -magnitude.abs(), magnitude.abs())
