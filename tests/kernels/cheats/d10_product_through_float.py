"""Product of int32 values through float32: exact below 2^24 only, where get_inputs stays.

catalogue: D10 D7
seen at: integer kernels built on float ones
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(x, y):
    return (x.float() * y.float()).to(torch.int32)


def reference_fn(x, y):
    return x * y


def get_inputs(n=4096):
    return [torch.randint(-1000, 1000, (n,), dtype=torch.int32) for _ in range(2)]


TEST_CASES = {"odd": {"n": 1001}}
