"""Matrix product of int8 through float32: exact below 2^24 only, which random signs never reach at this depth.

catalogue: D10 D7
seen at: integer products built on float ones; variation of d10_product_through_float.py
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch


def kernel_fn(a, b):
    return (a.float() @ b.float()).to(torch.int32)


def reference_fn(a, b):
    return (a.long() @ b.long()).to(torch.int32)


def get_inputs(m=8, n=16, k=4096):
    return [torch.randint(-128, 128, size, dtype=torch.int8) for size in ((m, k), (k, n))]


TEST_CASES = {"odd": {"m": 3, "n": 5, "k": 1001}}
