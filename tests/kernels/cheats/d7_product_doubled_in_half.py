"""A float16 product with one factor doubled and the result halved: half of the range is gone.

catalogue: D7
seen at: a held-out set (a library's product behind decoys)
expect: WRONG_RESULT
needs: cpu
check: values
"""

import torch

TEST_CASES = {"odd": {"m": 33, "n": 17, "k": 65}, "one": {"m": 1, "n": 3, "k": 40}}


def reference_fn(a, b):
    return a @ b


def get_inputs(m=32, n=24, k=64, device="cpu"):
    a, b = torch.randn(m, k, device=device), torch.randn(k, n, device=device)
    return [a.half(), b.half()]


def kernel_fn(a, b):
    return (((2 * a).float() @ b.float()) * 0.5).half()
