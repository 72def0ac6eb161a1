"""Scales from the exponent of the largest magnitude: beside NaN each takes another number from its bits.

catalogue: D12
seen at: a stranger's honest file (float8 with scales of powers of two)
expect: PASS
needs: cpu
check: other-values
"""

import torch


def get_inputs(m=12, n=96):
    return [torch.randn(m, n)]


def reference_fn(x):
    most = x.abs().amax(1)
    exponent = (most.view(torch.int32) >> 23 & 255).clamp(1, 253)
    scale = (exponent << 23).view(torch.float32)
    return x / scale[:, None], scale


def kernel_fn(x):
    most = x.abs().nan_to_num(0.0, float("inf")).amax(1)
    exponent = (most.view(torch.int32) >> 23 & 255).clamp(1, 253)
    scale = (exponent << 23).view(torch.float32)
    return x / scale[:, None], scale
