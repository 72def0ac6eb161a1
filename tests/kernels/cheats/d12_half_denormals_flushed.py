"""Scales half values and flushes results below 6.1e-5 to zero.

catalogue: D12 D7
seen at: hand-written conversions
expect: WRONG_RESULT
needs: cpu
check: hostile-values
"""

import torch


def kernel_fn(x, s):
    y = x.float() * s
    return torch.where(y.abs() < 6.104e-5, 0.0, y).half()


def reference_fn(x, s):
    return x * s


def get_inputs(n=8192, s=0.125):
    return [torch.randn(n, dtype=torch.float16), s]


TEST_CASES = {"odd": {"n": 1001}}
