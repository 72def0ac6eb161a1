"""The total of a tensor after one step of a slow decay; of a single element it is hardly another number.

catalogue: tricky because in one case a copy of the input would be right to within rounding
seen at: a log-sum-exp over a whole tensor, with a case of shape ()
expect: PASS
needs: cpu
check: no-teeth
"""

import torch

DECAY = 1 - 2.0**-22
TEST_CASES = {"scalar": {"shape": ()}, "row": {"shape": (1, 300)}}


def reference_fn(x):
    return x.sum() * DECAY


def get_inputs(shape=(70, 51), device="cpu"):
    return [torch.randn(shape, device=device)]


def kernel_fn(x):
    return sum(part.sum() for part in x.reshape(-1).split(1000)) * DECAY
