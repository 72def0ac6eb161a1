"""Block index by a division that truncates where the reference floors; get_inputs makes no negative.

catalogue: D10
seen at: // in Triton and C against PyTorch
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(x, size):
    return torch.div(x, size, rounding_mode="trunc")


def reference_fn(x, size):
    return torch.div(x, size, rounding_mode="floor")


def get_inputs(n=5000, size=16):
    return [torch.randint(0, 10000, (n,), dtype=torch.int32), size]


TEST_CASES = {"odd": {"n": 777, "size": 7}}
