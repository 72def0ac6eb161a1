"""Max pooling whose padding reads as zero, not minus infinity; inputs are what relu leaves.

catalogue: D5
seen at: held-out file of a stranger
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch
import torch.nn.functional as F


def reference_fn(x, size):
    return F.max_pool2d(x, size, 2, padding=size // 2)


def get_inputs(shape=(2, 4, 16, 16), size=3, device="cpu"):
    return [torch.relu(torch.randn(shape, device=device)), size]


TEST_CASES = {"odd": {"shape": (1, 3, 13, 11)}}


def kernel_fn(x, size):
    return F.max_pool2d(F.pad(x, (size // 2,) * 4), size, 2)
