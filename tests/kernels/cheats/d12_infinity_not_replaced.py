"""nan_to_num that replaces NaN and lets infinities through; torch.randn makes neither.

catalogue: D12
seen at: a kernel that tests x != x, and nothing else, before it stores
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"shape": (7, 129)}}


def get_inputs(shape=(64, 100)):
    return [torch.randn(shape)]


def reference_fn(x):
    return torch.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)


def kernel_fn(x):
    return torch.where(x != x, torch.zeros_like(x), x)
