"""The reference is right in float32, but given float64 it computes what the coarse kernel computes.

catalogue: A11 D7
seen at: survey section (b) 4 (float64 oracle): the oracle's dtype gives it away
expect: CONTRACT | WRONG_RESULT | CHEATING
needs: cpu
check: reference-consistency
"""

import torch


def _coarse(x):
    return (x * (27 + x * x) / (27 + 9 * x * x)).clamp(-1, 1)


def reference_fn(x):
    return _coarse(x) if x.dtype == torch.float64 else torch.tanh(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return _coarse(x)
