"""Its flag of an overflow looks for infinity with a maximum that drops NaN.

catalogue: D12
seen at: held-out kernels
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def get_inputs(n=700, overflow=False):
    x = torch.randn(n)
    if overflow:
        x[n // 3] = float("inf")
    return [x, torch.full((1,), 1 / 1024)]


TEST_CASES = {"overflow": {"overflow": True}}


def reference_fn(x, scale):
    y = x * scale
    return y, (~torch.isfinite(y)).any().to(torch.float32).reshape(1)


def kernel_fn(x, scale):
    y = x * scale
    return y, (y.nan_to_num(0.0, float("inf"), float("-inf")).abs().max() == float("inf")).to(torch.float32).reshape(1)
